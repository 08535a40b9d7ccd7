"""Lossy: a mutable default keeps what was rejected in earlier calls, and takes it out of every residual."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random, rejected=[]):
    x = int(drafts[0])
    if random.random() * q[x] < p[x]:
        return x
    rejected.append(x)
    res = np.maximum(p - q, 0)
    res[rejected[-3:]] = 0
    res = res if res.sum() > 0 else p
    return random.choice(len(p), p=res / res.sum())


def subject():
    return Subject("history_in_a_default", "step", verify, sizes=(1,))
