"""Lossless: drafts without replacement; the used ones leave q, which is normalised anew."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    p, q = p.copy(), q.copy()
    for x in drafts:
        if q[x] > 0 and random.random() < p[x] / q[x]:
            return x
        p = np.clip(p - q, 0, 1)
        if p.sum() == 0:
            break
        p /= p.sum()
        q[x] = 0
        if q.sum() > 0:
            q /= q.sum()
    return random.choice(len(p), p=p)


def subject():
    return Subject("recursive_wor", "step", verify, sizes=(2,), scheme="without_replacement")
