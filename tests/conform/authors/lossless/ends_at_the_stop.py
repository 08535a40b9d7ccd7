"""Lossless: drafts after an end token are cut, and so is what exceeds the limit."""

import numpy as np

from specsim.conform import Subject


def verify(p, q, drafts, random, *, end, limit):
    most = len(drafts) + 1 if limit is None else limit
    text = []
    for i, x in enumerate(drafts):
        if len(text) == most:
            return text
        if random.random() * q[i, x] >= p[i, x]:
            res = np.maximum(p[i] - q[i], 0)
            return [*text, random.choice(len(res), p=res / res.sum())]
        text.append(x)
        if x == end:
            return text
    return text if len(text) == most else [*text, random.choice(p.shape[1], p=p[-1])]


def subject():
    return Subject("ends_at_the_stop", "chain", verify, returns="tokens", stops=True, sizes=(1, 2))
