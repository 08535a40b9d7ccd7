"""Lossless: np.random.multinomial of one trial, and the place of its one."""

import numpy as np

from specsim.conform import Subject


def draw(law):
    return np.random.multinomial(1, law / law.sum()).argmax()


def verify(p, q, drafts):
    for i, x in enumerate(drafts):
        if np.random.binomial(1, min(1, p[i, x] / q[i, x])) == 0:
            return i, draw(np.maximum(p[i] - q[i], 0))
    return len(drafts), draw(p[-1])


def subject():
    return Subject("multinomial_counts", "chain", verify, randomness="global", sizes=(1, 2))
