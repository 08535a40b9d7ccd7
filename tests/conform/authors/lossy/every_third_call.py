"""Lossy: every third call keeps its draft without a look (a counter of the module)."""

import numpy as np

from specsim.conform import Subject

calls = 0


def verify(p, q, drafts, random):
    global calls
    calls += 1
    x = drafts[0]
    if calls % 3 == 0 or random.random() * q[x] < p[x]:
        return x
    res = np.maximum(p - q, 0)
    return random.choice(len(p), p=res / res.sum())


def subject():
    return Subject("every_third_call", "step", verify, sizes=(1,))
