"""The number of distinct tokens among independent draws: the occupancy problem.

It is solved by generating functions. The probability that n draws give d distinct tokens is n!
times the coefficient of x^n z^d in F(x, z), the product over tokens i of 1 + z (e^{q_i x} - 1).
With Fractions, `ways` multiplies the factors out token by token. With floats, `law` evaluates F at
points of the circles |x| = n and |z| = 1, and reads the coefficients off by Fourier sums. There n!
F / n^n is at most about sqrt(2 pi n), so that nothing overflows or cancels, whatever n is. Unlikely
tokens enter by the logarithm of their factor, a short series.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from specsim.types import Array

# Nats: terms below e^-42 of the whole are left out, since float64 cannot hold them.
TINY = 42.0
# A token is unlikely if this many draws of it or fewer are expected. The series of `_logarithm` is
# short for such a token.
SHORT = 1 / 8


def ways(q: Array, limit: int) -> Array:
    """Return Pr[d distinct tokens among n draws from q] (..., n, d), both up to `limit`, in Fractions."""
    # Entry (n, d) of the table is the coefficient of x^n z^d in the product over tokens so far.
    table = np.full((*q.shape[:-1], limit + 1, limit + 1), Fraction(0))
    table[..., 0, 0] = Fraction(1)
    powers = np.arange(limit + 1)
    factorials = np.array([Fraction(math.factorial(j)) for j in powers])
    shift = powers[:, None] - powers

    # Multiply by 1 + z (e^{q_i x} - 1). Entry (n, m) of the matrix `factor` is the coefficient of
    # x^(n - m) in e^{q_i x} - 1; a column of the table moves on by one power of z.
    for i in range(q.shape[-1]):
        coefficients = q[..., i, None] ** powers / factorials
        factor = np.where(shift > 0, coefficients[..., shift], 0)
        table[..., 1:] += factor @ table[..., :-1]
    return table * factorials[:, None]


def law(q: Array, least: int, extra: float) -> Array:
    """Return Pr[d distinct tokens] (least + 2,) among draws from the floats q (V,).

    There are `least` >= 1 draws, and one more with probability `extra`. Absolute errors are about
    1e-15 times `least`, which is what the rounding of q allows.
    """
    # The most distinct tokens that are considered. By Bernstein's bound, which holds for the number
    # of occupied cells, more of them have probability e^-TINY.
    q, n, total = q[q > 0], least, q.sum()
    mean = (1 - (1 - np.minimum(q, 1)) ** (n + 1)).sum()
    most = min(n + 1, len(q), math.ceil(mean + TINY / 3 + math.sqrt(TINY**2 / 9 + 2 * mean * TINY)))

    # Points of |z| = 1 (z points, 1), and of the upper half of |x| = n (x points,): coefficients of
    # F are real, so that a point and its conjugate count together, with weight 2.
    z = np.exp(2j * np.pi * np.arange(most + 1) / (most + 1))[:, None]
    half = _half_circle_points(n)
    angle = np.pi * np.arange(half) / (half - 0.5)
    x = n * np.exp(1j * angle)
    weight = np.where(angle > 0, 2, 1)

    # The Fourier factors that read off the coefficient of x^n, or of x^(n+1) with probability
    # `extra`. They are scaled so that at z = 1, where F e^{-n total} = e^{total (x - n)}, the sum
    # over x is total^n: the probability of any d, 1 up to the rounding of q.
    value, f_at_one = 0 * z, np.exp(total * (x - n))
    for power, chance in ((n, 1 - extra), (n + 1, extra)):
        factors = weight * np.exp(-1j * power * angle)
        value = value + factors * chance * total**power / (factors * f_at_one).real.sum()

    # Multiply by F e^{-n total}, (z points, x points): likely tokens one by one, all unlikely ones
    # by the logarithm of their product, log(1 + z (e^{q_i x} - 1)) = q_i x + log(1 + (z - 1) b_i)
    # with b_i = 1 - e^{-q_i x}.
    is_likely = n * q > SHORT
    for q_i in q[is_likely]:
        value = value * ((1 - z) * math.exp(-q_i * n) + z * np.exp(q_i * (x - n)))
    if not is_likely.all():
        unlikely = q[~is_likely]
        b = -np.expm1(-x[:, None] * unlikely)
        value = value * np.exp(unlikely.sum() * (x - n) + _logarithm(b, z - 1))

    # A Fourier sum over z reads off the probability of each number of distinct tokens.
    probabilities = np.zeros(n + 2)
    probabilities[: most + 1] = np.fft.fft(value.sum(axis=1)).real / (most + 1)
    return np.maximum(probabilities, 0)


def _half_circle_points(n: int) -> int:
    """Return how many points on the upper half of the circle |x| = n make the Fourier sums over x exact.

    A sum over `size` points of the whole circle cannot tell x^n from x^(n + size). At |x| = n the
    term x^n / n! of e^x is exp(`log_ratio`) times the term x^(n + size) / (n + size)!: `size` is
    large enough if that is e^TINY or more, so that the wrong term is lost in rounding. Of `size`
    points of the circle, one of which is x = n, size // 2 + 1 are in the upper half.
    """
    # At least n + 2 points tell all powers from x^0 to x^(n + 1) apart.
    size = n + 2
    while True:
        log_ratio = math.lgamma(n + size + 1) - math.lgamma(n + 1) - size * math.log(n)
        if log_ratio >= TINY:
            return size // 2 + 1
        size += 1


def _logarithm(b: Array, y: Array) -> Array:
    """Return the sum over tokens of log(1 + y b), (z points, x points), by the series of log.

    b is (x points, tokens) and y (z points, 1). For unlikely tokens |y b| is at most 0.27, so that
    the series is short.
    """
    total, b_to_j, j = 0 * y, b, 1
    while True:
        # log(1 + y b) = -sum_j (-y b)^j / j.
        term = (-y) ** j / j * b_to_j.sum(axis=-1)
        total = total - term
        if np.abs(term).max() < 1e-17:
            return total
        b_to_j, j = b_to_j * b, j + 1
