"""How many distinct tokens independent draws give: the classical occupancy problem, by generating functions.

The number of tuples of n draws with d distinct tokens, weighed by their probability, is n! times the coefficient of
x^n z^d in the product of 1 + z (e^{q_i x} - 1). The product is taken factor by factor over the likeliest tokens, where
all terms are positive. The others, none of which has q > 1/(8 limit), enter as exp of the sum of logarithms, a series
in their power sums, which loses a factor of exp(limit/8) in precision at most.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from specsim._dist import is_exact
from specsim.types import Array


def ways(q: Array, limit: int) -> Array:
    """Pr[d distinct tokens among n draws from q], (..., n, d), both up to limit; NumPy floats or Fractions."""
    one = Fraction(1) if is_exact(q) else 1.0
    few = 0 if is_exact(q) else max(0, q.shape[-1] - 8 * limit)
    q = np.partition(q, few, axis=-1) if few else q
    table = _unlikely(q[..., :few], limit)
    number = np.arange(limit + 1)
    factorials = np.array([one * math.factorial(j) for j in number])
    shift = number[:, None] - number
    for i in range(few, q.shape[-1]):
        times = q[..., i, None] ** number / factorials * (number > 0)  # of e^{qx} - 1
        table[..., 1:] += np.where(shift > 0, times[..., shift], 0) @ table[..., :-1]
    return table * factorials[:, None]


def _unlikely(q: Array, limit: int) -> Array:
    """Coefficients (..., n, d) of x^n z^d in the product of 1 + z (e^{q_i x} - 1), as exp of the sum of logarithms."""
    size = limit + 1
    table = np.zeros((*q.shape[:-1], size, size), dtype=q.dtype)
    table[..., 0, 0] = 1
    if not q.shape[-1]:
        return table
    logarithm, stirling = [], np.eye(1, size)[0]  # partitions of j things into d parts
    for j in range(1, size):
        stirling = np.arange(size) * stirling + np.roll(stirling, 1)
        cumulant = [0.0, *((-1) ** (d - 1) * math.factorial(d - 1) * stirling[d] for d in range(1, size))]
        shift = np.arange(size)[:, None] - np.arange(size)
        powers = np.sum(q**j, axis=-1)[..., None, None] / math.factorial(j - 1)
        logarithm.append(powers * np.where(shift > 0, np.array(cumulant)[shift], 0))
    for n in range(1, size):
        terms = (logarithm[j - 1] @ table[..., n - j, :, None] for j in range(1, n + 1))
        table[..., n, :] = sum(terms)[..., 0] / n
    return table
