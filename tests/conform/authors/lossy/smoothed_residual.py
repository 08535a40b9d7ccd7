"""Lossy: 0.01 is added to every entry of the residual (up to .03 of what is rejected)."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    for i, x in enumerate(drafts):
        if random.random() >= p[i, x] / q[i, x]:
            res = np.maximum(p[i] - q[i], 0) + 0.01
            return i, random.choice(len(res), p=res / res.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("smoothed_residual", "chain", verify, sizes=(1, 2))
