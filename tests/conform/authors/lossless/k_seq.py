"""Lossless: SpecTr's k-sequential selection; gamma by bisection."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    k = len(drafts)

    def rejected(gamma):
        beta = np.minimum(q, p / gamma).sum()
        return (1 - beta) ** k, beta

    low, high = 1.0, float(k)
    for _ in range(80):
        gamma = (low + high) / 2
        none, beta = rejected(gamma)
        if 1 - none <= gamma * beta + 1e-15:
            high = gamma
        else:
            low = gamma
    gamma = high
    none, beta = rejected(gamma)
    for x in drafts:
        if random.random() * gamma * q[x] < p[x]:
            return x
    got = np.minimum(q, p / gamma) * ((1 - none) / beta if beta > 0 else k)
    left = np.maximum(p - got, 0)
    return random.choice(len(p), p=left / left.sum())


def subject():
    return Subject("k_seq", "step", verify, sizes=(1, 2, 3))
