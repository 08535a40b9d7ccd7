"""Lossy: a draft that equals the one before it is kept without a test."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    last = None
    for i, x in enumerate(drafts):
        if x != last and random.random() * q[i, x] >= p[i, x]:
            res = np.maximum(p[i] - q[i], 0)
            return i, random.choice(len(res), p=res / res.sum())
        last = x
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("repeated_drafts_are_one", "chain", verify, sizes=(2, 3))
