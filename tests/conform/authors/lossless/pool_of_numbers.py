"""Lossless: numbers come from a pool of the module, which is filled again when it is empty."""

import numpy as np

from specsim.conform import Subject

POOL = []


def uniform():
    if not POOL:
        POOL.extend(np.random.random_sample(4096).tolist())
    return POOL.pop()


def categorical(law):
    u = uniform() * law.sum()
    for token, mass in enumerate(law):
        u -= mass
        if u < 0:
            return token
    return int(np.flatnonzero(law)[-1])


def verify(p, q, drafts):
    x = drafts[0]
    return x if uniform() * q[x] < p[x] else categorical(np.maximum(p - q, 0))


def subject():
    return Subject("pool_of_numbers", "step", verify, randomness="global", sizes=(1,))
