"""Do two sets of points have one law? Their energy distance beside that of shuffled sets."""

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
        """Return the distance, with the least of the shuffled distances and their quantile at `level`.

        The laws differ if the distance is above `high`.
        """
        low, high = float(self.shuffled.min()), float(np.quantile(self.shuffled, level))
        return Estimate(self.distance, low, high)


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
    first, second = np.asarray(one, dtype=np.float64), np.asarray(other, dtype=np.float64)
    n, m = len(first), len(second)
    if min(n, m) < 2:
        raise ValueError(f"sets of {n} and {m} points: a distance within a set needs two")

    # Distances of all points, and which points are in the first set: as they are in the first row,
    # shuffled in the others.
    points = np.concatenate([first, second])
    distances = cdist(points, points)
    in_first = np.zeros((1 + shuffles, n + m))
    in_first[:, :n] = 1
    in_first[1:] = np.random.default_rng(seed).permuted(in_first[1:], axis=1)

    # Sums of distances within the first set, between both, and within the second. A pair within a
    # set is counted twice, so that n (n - 1) is the number of its terms.
    within_first = ((in_first @ distances) * in_first).sum(axis=1)
    between = in_first @ distances.sum(axis=0) - within_first
    within_second = distances.sum() - 2 * between - within_first
    energy = 2 * between / (n * m) - within_first / (n * (n - 1))
    energy = energy - within_second / (m * (m - 1))
    return Compared(float(energy[0]), energy[1:])
