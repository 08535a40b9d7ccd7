"""Lossless: recovered tokens of all positions by exponential races, drawn before any test."""

import torch

from specsim.conform import Subject


def sample(p, q, drafts):
    n = len(drafts)
    noise = torch.empty_like(p).exponential_()
    res = (p[:n] - q).clamp_min(0)
    recovered = torch.cat([res, p[n:]]).div(noise).argmax(-1)
    uniform = torch.rand(n, dtype=p.dtype)
    for i in range(n):
        if uniform[i] >= p[i, drafts[i]] / q[i, drafts[i]]:
            return i, recovered[i]
    return n, recovered[n]


def subject():
    return Subject("race_up_front", "chain", sample, arrays="torch", randomness="global", sizes=(1, 2))
