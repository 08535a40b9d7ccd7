"""Lossy: the number that rejects a draft also picks its replacement (0.2 at p = (.5, .3, .2), q = (.2, .3, .5))."""

import numpy as np


def verify(p, q, drafts, u):
    x = drafts[0]
    if u[0] * q[x] < p[x]:
        return x
    res = np.maximum(p - q, 0)
    cdf = np.cumsum(res / res.sum())
    return int(np.searchsorted(cdf, u[0], side="right").clip(0, np.flatnonzero(res)[-1]))
