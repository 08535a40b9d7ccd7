"""Lossy: torch.manual_seed(0) in every call: no randomness at all."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    torch.manual_seed(0)
    for i, x in enumerate(drafts):
        if torch.rand((), dtype=p.dtype) * q[i, x] >= p[i, x]:
            return i, torch.multinomial((p[i] - q[i]).clamp(min=0), 1)[0]
    return len(drafts), torch.multinomial(p[-1], 1)[0]


def subject():
    return Subject("seeded_every_call", "chain", verify, arrays="torch", randomness="global", sizes=(1, 2))
