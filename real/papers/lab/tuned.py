"""The rank correlation, by which systems compare what objectives and sizes do to a draft."""

from __future__ import annotations

import numpy as np
from scipy import stats

from specsim.types import Array


def correlation(a: Array, b: Array) -> Array:
    """Spearman's correlation along the last axis; 0 where one of the two is constant."""
    ranks = [stats.rankdata(values, axis=-1) for values in np.broadcast_arrays(a, b)]
    of_a, of_b = (rank - rank.mean(axis=-1, keepdims=True) for rank in ranks)
    size = np.sqrt((of_a**2).sum(-1) * (of_b**2).sum(-1))
    products = (of_a * of_b).sum(-1)
    correlations: Array = np.divide(products, size, out=np.zeros_like(size), where=size > 0)
    return correlations
