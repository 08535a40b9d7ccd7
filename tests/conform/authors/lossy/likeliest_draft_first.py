"""Lossy: independent drafts are tried in the order of the target's probability."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random):
    for x in sorted(drafts.tolist(), key=lambda t: -p[t]):
        if random.random() * q[x] < p[x]:
            return x
        p = np.maximum(p - q, 0)
        p = p / p.sum() if p.sum() > 0 else q
    return random.choice(len(p), p=p)


def subject():
    return Subject("likeliest_draft_first", "step", verify, sizes=(2, 3))
