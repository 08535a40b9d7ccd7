"""Lossy: uniforms have two bits (0, 1/4, 1/2, 3/4)."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts):
    x = drafts[0]
    if np.random.randint(4) / 4 * q[x] < p[x]:
        return x
    res = np.maximum(p - q, 0)
    return np.random.choice(len(p), p=res / res.sum())


def subject():
    return Subject("four_levels", "step", verify, randomness="global", sizes=(1,))
