"""Lossy: drafts without replacement are verified as if they were independent."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    for x in drafts:
        if random.random() * q[x] < p[x]:
            return x
        p = np.maximum(p - q, 0)
        p = p / p.sum()
    return random.choice(len(p), p=p)


def subject():
    return Subject("wor_as_iid", "step", verify, sizes=(2,), scheme="without_replacement")
