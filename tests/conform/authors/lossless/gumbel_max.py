"""Lossless: argmax of log residual plus Gumbel noise from uniforms, in torch."""

import torch

from specsim.conform import Subject


def accept(p, q, drafts):
    x = int(drafts[0])
    if torch.rand(()) < p[x] / q[x]:
        return x
    res = torch.relu(p - q)
    g = -torch.log(-torch.log(torch.rand(res.shape)))
    return torch.argmax(res.log() + g)


def subject():
    return Subject("gumbel_max", "step", accept, arrays="torch", dtype="float32", randomness="global", sizes=(1,))
