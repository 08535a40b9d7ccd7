"""Lossless: laws are logits; the test is log u < log p - log q, the residual by exp and relu."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    lp, lq = torch.log_softmax(p, -1), torch.log_softmax(q, -1)
    for i in range(len(drafts)):
        x = drafts[i]
        if torch.log(torch.rand((), dtype=p.dtype)) >= lp[i, x] - lq[i, x]:
            return i, torch.multinomial((lp[i].exp() - lq[i].exp()).clamp(min=0), 1)
    return len(drafts), torch.distributions.Categorical(logits=p[-1]).sample()


def subject():
    return Subject("log_space", "chain", verify, arrays="torch", randomness="global", logits=True, sizes=(1, 2))
