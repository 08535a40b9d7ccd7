"""Lossy: drafts are kept with 1.001 p / q, the residual is as it was (5e-4)."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    x = drafts[0]
    if random.random() < 1.001 * p[x] / q[x]:
        return x
    res = np.maximum(p - q, 0)
    return random.choice(len(p), p=res / res.sum())


def subject():
    return Subject("one_per_mille_lenient", "step", verify, sizes=(1,))
