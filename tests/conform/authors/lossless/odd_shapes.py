"""Lossless: it returns a bool sum and a (1, 1) int32 tensor that is a view of something larger."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    size = len(drafts)
    u = torch.rand(size, 1, dtype=p.dtype)
    x = drafts.view(-1, 1)
    passed = u < p[:size].gather(1, x) / q.gather(1, x)
    kept = passed.flatten().int().cumprod(0).bool().sum()
    law = p[kept] - torch.nn.functional.pad(q, (0, 0, 0, 1))[kept]
    buffer = torch.zeros(4, 4, dtype=torch.int32)
    buffer[2:3, 1:2] = torch.multinomial(law.relu(), 1).int()
    return kept, buffer[2:3, 1:2]


def subject():
    return Subject("odd_shapes", "chain", verify, arrays="torch", randomness="global", sizes=(1, 2))
