"""Lossless: it works in place, on p, q and the list of drafts, which the caller has no more use for."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    p.requires_grad_(False)
    n = drafts.numel()
    ratio = p[:n].gather(1, drafts[:, None]).squeeze(1) / q.gather(1, drafts[:, None]).squeeze(1)
    keep = torch.rand(n, dtype=p.dtype).lt_(ratio).bool()
    kept = int(keep.cumprod(0).sum())
    p[:n].sub_(q).clamp_(min=0)
    q.zero_()
    drafts.fill_(-1)
    return kept, p[kept].multinomial(1)


def subject():
    return Subject("in_place", "chain", verify, arrays="torch", randomness="global", sizes=(1, 2))
