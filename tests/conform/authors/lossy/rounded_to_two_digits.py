"""Lossy: the residual is rounded to two digits before it is drawn from (to .005 a token)."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            res = np.maximum(p[i] - q[i], 0)
            short = np.round(res / res.sum(), 2)
            return i, random.choice(len(res), p=short / short.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("rounded_to_two_digits", "chain", verify, sizes=(1, 2))
