"""Lossy: an end token among the drafts does not end the text."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random, *, end, limit):
    text = []
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            res = np.maximum(p[i] - q[i], 0)
            text.append(random.choice(len(res), p=res / res.sum()))
            break
        text.append(x)
    else:
        if end not in text:
            text.append(random.choice(p.shape[1], p=p[-1]))
    return text[:limit]


def subject():
    return Subject("drafts_after_the_end", "chain", verify, returns="tokens", stops=True, sizes=(1, 2))
