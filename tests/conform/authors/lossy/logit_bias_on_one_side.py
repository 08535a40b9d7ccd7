"""Lossy: a logit bias of 0.5 for token 0 reaches the test's p and not the residual's."""

import numpy as np

from specsim.conform import Subject

BIAS = {0: 0.5}


def biased(law):
    out = law.copy()
    for token, bias in BIAS.items():
        out[token] *= np.exp(bias)
    return out / out.sum()


def verify(p, q, drafts, random):
    x = drafts[0]
    if random.random() * q[x] < biased(p)[x]:
        return x
    res = np.maximum(p - q, 0)
    return random.choice(len(p), p=res / res.sum() if res.sum() > 0 else p)


def subject():
    return Subject("logit_bias_on_one_side", "step", verify, sizes=(1,))
