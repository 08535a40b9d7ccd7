"""Lossless: block verification (Sun et al.), from the last draft to the first."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    g = len(drafts)
    joint = np.ones(g + 1)
    for i, x in enumerate(drafts):
        joint[i + 1] = min(joint[i] * p[i, x] / q[i, x], 1.0)
    kept = 0
    for i in range(g, 0, -1):
        if i == g:
            chance = joint[g]
        else:
            over = np.maximum(joint[i] * p[i] - q[i], 0).sum()
            chance = over / (over + 1 - joint[i]) if over + 1 - joint[i] > 0 else 1.0
        if random.random() < chance:
            kept = i
            break
    law = p[g] if kept == g else np.maximum(joint[kept] * p[kept] - q[kept], 0)
    return kept, random.choice(len(law), p=law / law.sum())


def subject():
    return Subject("blockwise", "chain", verify, sizes=(1, 2, 3))
