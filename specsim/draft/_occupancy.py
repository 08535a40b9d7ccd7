"""The number of distinct tokens among independent draws: the occupancy problem.

It is solved by generating functions. With z marking distinct tokens, n draws give d of them with
probability n! [x^n z^d] F(x, z), where F is the product of 1 + z (e^{q_i x} - 1). Fractions take
the product token by token. Floats evaluate it instead, at points of the circles |x| = n and |z| =
1, and read the coefficient off by Fourier sums. There n! F / n^n is at most about sqrt(2 pi n), so
nothing overflows or cancels, whatever n. Unlikely tokens enter by their logarithm, a short series.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from specsim.types import Array

# Nats: terms below e^-42 of the whole are left out, since float64 cannot hold them.
TINY = 42.0
# A token is unlikely if fewer draws of it than this are expected; its logarithm is a short series.
SHORT = 1 / 8


def ways(q: Array, limit: int) -> Array:
    """Pr[d distinct tokens among n draws from q], (..., n, d), both up to limit, in Fractions."""
    # Entry (n, d) of the table is the coefficient of x^n z^d in the product over tokens so far.
    table = np.full((*q.shape[:-1], limit + 1, limit + 1), Fraction(0))
    table[..., 0, 0] = Fraction(1)
    powers = np.arange(limit + 1)
    factorials = np.array([Fraction(math.factorial(j)) for j in powers])
    shift = powers[:, None] - powers

    # Multiply by 1 + z (e^{q_i x} - 1): a matrix product over the powers of x, shifted by one in z.
    for i in range(q.shape[-1]):
        coefficients = q[..., i, None] ** powers / factorials * (powers > 0)
        table[..., 1:] += np.where(shift > 0, coefficients[..., shift], 0) @ table[..., :-1]
    return table * factorials[:, None]


def law(q: Array, least: int, extra: float) -> Array:
    """Pr[d distinct tokens] (least + 2,) among least >= 1 draws from the floats q (V,).

    With probability `extra` there is one draw more. Absolute errors are about 1e-15 least, which is
    what the rounding of q allows.
    """
    # By Bernstein's bound, which holds for the number of occupied cells, more than `most` distinct
    # tokens have probability e^-TINY.
    q, n, total = q[q > 0], least, q.sum()
    mean = (1 - (1 - np.minimum(q, 1)) ** (n + 1)).sum()
    most = min(n + 1, len(q), math.ceil(mean + TINY / 3 + math.sqrt(TINY**2 / 9 + 2 * mean * TINY)))

    # Points of |z| = 1 (most + 1, 1), and of the upper half of |x| = n (points,): F is real, so that
    # a point and its conjugate count together, with weight 2.
    z = np.exp(2j * np.pi * np.arange(most + 1) / (most + 1))[:, None]
    half = _half_circle_points(n)
    angle = np.pi * np.arange(half) / (half - 0.5)
    x = n * np.exp(1j * angle)
    weight = np.where(angle > 0, 2, 1)

    # The Fourier factors that read off the coefficient of x^n, or of x^(n+1) with probability
    # `extra`. They are scaled so that at z = 1 the sum is total^n: there F e^{-n total} is known.
    value, at_one = 0 * z, np.exp(total * (x - n))
    for power, chance in ((n, 1 - extra), (n + 1, extra)):
        factors = weight * np.exp(-1j * power * angle)
        value = value + factors * chance * total**power / (factors * at_one).real.sum()

    # Multiply by F e^{-n total}: likely tokens one by one, unlikely ones by their logarithms.
    is_likely = n * q > SHORT
    for q_i in q[is_likely]:
        value = value * ((1 - z) * math.exp(-q_i * n) + z * np.exp(q_i * (x - n)))
    if not is_likely.all():
        unlikely = q[~is_likely]
        logarithm = _logarithm(-np.expm1(-x[:, None] * unlikely), z - 1)
        value = value * np.exp(unlikely.sum() * (x - n) + logarithm)

    # A Fourier sum over z reads off the probability of each number of distinct tokens.
    probabilities = np.zeros(n + 2)
    probabilities[: most + 1] = np.fft.fft(value.sum(axis=1)).real / (most + 1)
    return np.maximum(probabilities, 0)


def _half_circle_points(n: int) -> int:
    """The number of points on half of the circle |x| = n that make the Fourier sums over x exact.

    A sum over `size` points of the whole circle reads x^n and x^(n + size) as one power. At |x| = n
    the term x^n / n! of e^x is exp(`log_ratio`) times the term x^(n + size) / (n + size)!: `size` is
    large enough if that is e^TINY, so that the wrong term is lost in rounding.
    """
    # At least n + 2 points tell all powers from x^0 to x^(n + 1) apart.
    size = n + 2
    while True:
        log_ratio = math.lgamma(n + size + 1) - math.lgamma(n + 1) - size * math.log(n)
        if log_ratio >= TINY:
            return size // 2 + 1
        size += 1


def _logarithm(b: Array, y: Array) -> Array:
    """Sum over tokens of log(1 + y b), (z points, x points), by the series of log.

    b is (x points, tokens) and y (z points, 1); |y b| is at most 0.27.
    """
    total, power, j = 0 * y, b, 1
    while True:
        # log(1 + y b) = -sum_j (-y b)^j / j.
        term = (-y) ** j / j * power.sum(axis=-1)
        total = total - term
        if np.abs(term).max() < 1e-17:
            return total
        power, j = power * b, j + 1
