"""Lossless: every call makes a torch.Generator and seeds it from the global one."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    g = torch.Generator().manual_seed(int(torch.randint(2**62, ())))
    x = drafts[0]
    if torch.rand((), generator=g, dtype=p.dtype) < p[x] / q[x]:
        return x
    return torch.multinomial((p - q).clamp(min=0), 1, generator=g)


def subject():
    return Subject("seeded_from_the_global", "step", verify, arrays="torch", randomness="global", sizes=(1,))
