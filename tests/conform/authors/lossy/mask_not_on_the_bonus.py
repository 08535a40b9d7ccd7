"""Lossy: the grammar's mask reaches tests and corrections, not the bonus."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random, *, mask):
    for i, x in enumerate(drafts):
        row = p[i] if mask is None else p[i] * mask[i] / (p[i] * mask[i]).sum()
        if random.random() * q[i, x] >= row[x]:
            res = np.maximum(row - q[i], 0)
            res = res if res.any() else row
            return i, random.choice(len(res), p=res / res.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("mask_not_on_the_bonus", "chain", verify, masks=True, sizes=(1, 2))
