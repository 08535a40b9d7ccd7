"""Lossy: a generator seeded by a hash of the drafts: one answer for each draft."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts):
    rng = np.random.default_rng(abs(hash(tuple(drafts.tolist()))))
    x = drafts[0]
    if rng.random() * q[x] < p[x]:
        return x
    res = np.maximum(p - q, 0)
    return rng.choice(len(p), p=res / res.sum())


def subject():
    return Subject("seeded_by_the_drafts", "step", verify, randomness="global", sizes=(1,))
