"""Lossless: a grammar's mask is applied to every row of target and draft, and to the bonus."""

import numpy as np

from specsim.conform import Subject


def constrain(rows, mask):
    if mask is None:
        return rows
    rows = np.where(mask[: len(rows)], rows, 0)
    total = rows.sum(-1, keepdims=True)
    return np.divide(rows, total, out=np.zeros_like(rows), where=total > 0)


def verify(p, q, drafts, random, *, mask):
    p = constrain(p, mask)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            excess = np.maximum(p[i] - q[i], 0)
            law = excess if excess.any() else p[i]
            return i, random.choice(len(law), p=law / law.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("grammar_in_numpy", "chain", verify, masks=True, sizes=(1, 2))
