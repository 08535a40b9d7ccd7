"""Lossy: the number that tests the draft is that of token 0 in the Gumbel noise, too."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    x = drafts[0]
    u = torch.rand(p.shape, dtype=p.dtype)
    if u[0] * q[x] < p[x]:
        return x
    g = -(-u.log()).log()
    return ((p - q).clamp(min=0).log() + g).argmax()


def subject():
    return Subject("one_gumbel_for_both", "step", verify, arrays="torch", randomness="global", sizes=(1,))
