"""Lossless: a function compiled by torch.jit.script."""

import torch

from specsim.conform import Subject


@torch.jit.script
def _verify(p: torch.Tensor, q: torch.Tensor, drafts: torch.Tensor):
    x = drafts[0]
    u = torch.rand(1)
    if bool(u * q[x] < p[x]):
        return x
    return torch.multinomial(torch.relu(p - q), 1)[0]


def verify(p, q, drafts):
    return _verify(p, q, drafts)


def subject():
    return Subject("torchscript", "step", verify, arrays="torch", dtype="float32", randomness="global", sizes=(1,))
