"""Whether two sets of points have one law: their energy distance, against that of sets into which they are shuffled."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.spatial.distance import cdist

from real.studies.intervals import Estimate
from specsim.types import Array


class Compared(NamedTuple):
    """The energy distance of two sets, and that of each pair that they were shuffled into."""

    distance: float
    shuffled: Array

    def beside(self, level: float = 0.99) -> Estimate:
        """The distance, and what is reached by a share of the shuffled: above `high` the laws differ."""
        return Estimate(self.distance, float(self.shuffled.min()), float(np.quantile(self.shuffled, level)))


def energy_distance(one: Array, other: Array, *, shuffles: int = 1_999, seed: int = 0) -> Compared:
    r"""Compare two sets of points by the distances within and between them.

    .. math:: 2 E|X - Y| - E|X - X'| - E|Y - Y'|

    which is 0 for one law and positive for two; every mean is over different points, so it has no bias.

    Parameters
    ----------
    one, other : array_like, shape (n, d) and (m, d)
        At least two points each.
    shuffles, seed : int
        Pairs of sets of n and m points that the n + m are shuffled into, and the seed.

    Returns
    -------
    Compared

    Raises
    ------
    ValueError
        A set has fewer than two points.

    References
    ----------
    Szekely and Rizzo 2013, Journal of Statistical Planning and Inference 143:1249.
    """
    one, other = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    n, m = len(one), len(other)
    if min(n, m) < 2:
        raise ValueError(f"sets of {n} and {m} points: a distance within a set needs two")
    points = np.concatenate([one, other])
    apart = cdist(points, points)
    first = np.zeros((1 + shuffles, n + m))
    first[:, :n] = 1
    first[1:] = np.random.default_rng(seed).permuted(first[1:], axis=1)
    within_one = ((first @ apart) * first).sum(axis=1)
    between = first @ apart.sum(axis=0) - within_one
    within_other = apart.sum() - 2 * between - within_one
    found = 2 * between / (n * m) - within_one / (n * (n - 1)) - within_other / (m * (m - 1))
    return Compared(float(found[0]), found[1:])
