"""Lossless: torch.distributions for the test and for the correction."""

import torch
from torch.distributions import Bernoulli, Categorical

from specsim.conform import Subject


def verify(p, q, drafts):
    at = torch.arange(len(drafts))
    ratio = (p[at, drafts] / q[at, drafts]).clamp(max=1)
    passed = Bernoulli(ratio).sample()
    kept = int(torch.cumprod(passed, 0).sum())
    law = p[kept] if kept == len(drafts) else torch.relu(p[kept] - q[kept])
    return kept, Categorical(probs=law).sample()


def subject():
    return Subject("distributions", "chain", verify, arrays="torch", randomness="global", sizes=(1, 2))
