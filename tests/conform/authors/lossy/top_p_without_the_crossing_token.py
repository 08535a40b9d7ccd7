"""Lossy: top-p of target and draft keeps the token that crosses, that of the residual does not."""

import numpy as np

from specsim import warp
from specsim.conform import Subject


def warped(row, s):
    with np.errstate(divide="ignore"):
        return warp(np.log(row), temperature=s.temperature, top_k=s.top_k, top_p=s.top_p)


def verify(p, q, drafts, random, *, sampling_params):
    s = sampling_params
    p, q = (np.stack([warped(row, s) for row in rows]) for rows in (p, q))
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            res = np.maximum(p[i] - q[i], 0)
            res /= res.sum()
            order = np.argsort(-res, kind="stable")
            keep = order[np.cumsum(res[order]) <= max(s.top_p, res.max())]
            cut = np.zeros_like(res)
            cut[keep] = res[keep]
            return i, random.choice(len(res), p=cut / cut.sum())
    return len(drafts), random.choice(p.shape[1], p=p[-1])


def subject():
    return Subject("top_p_without_the_crossing_token", "chain", verify, warps=True, sizes=(1, 2))
