"""Lossless: a plain function in a file; the residual by inverse CDF."""

import numpy as np


def verify(p, q, drafts, u):
    """Keep the draft with min(1, p/q), else search the residual's cumulative sum."""
    x = drafts[0]
    if u[0] * q[x] < p[x]:
        return x
    res = np.maximum(p - q, 0)
    cdf = np.cumsum(res)
    return int(np.searchsorted(cdf, u[1] * cdf[-1], side="right").clip(0, np.flatnonzero(res)[-1]))
