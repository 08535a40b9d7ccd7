"""Lossy: where the target gives a token .9 or more, it is taken without a draw."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    p = np.where(p.max(-1, keepdims=True) >= 0.9, np.eye(p.shape[-1])[p.argmax(-1)], p)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            res = np.maximum(p[i] - q[i], 0)
            return i, random.choice(len(res), p=res / res.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("greedy_where_sure", "chain", verify, sizes=(1, 2))
