"""Lossy: where the target is nearly even (its largest is below twice an even share) drafts are kept unseen."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    for i, x in enumerate(drafts):
        flat = p[i].max() < 1.3 / len(p[i])
        if not flat and random.random() * q[i, x] >= p[i, x]:
            res = np.maximum(p[i] - q[i], 0)
            return i, random.choice(len(res), p=res / res.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("lenient_where_flat", "chain", verify, sizes=(1, 2))
