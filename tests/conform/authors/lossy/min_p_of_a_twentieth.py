"""Lossy: min-p of .05 cuts the target's rare tokens, which nobody asked for."""

import torch

from specsim.conform import Subject


def min_p(rows):
    rows = torch.where(rows < 0.05 * rows.amax(-1, keepdim=True), 0, rows)
    return rows / rows.sum(-1, keepdim=True)


def verify(p, q, drafts):
    p = min_p(p)
    for i, x in enumerate(drafts):
        if torch.rand((), dtype=p.dtype) * q[i, x] >= p[i, x]:
            return i, torch.multinomial((p[i] - q[i]).clamp(min=0), 1)[0]
    return len(drafts), torch.multinomial(p[-1], 1)[0]


def subject():
    return Subject("min_p_of_a_twentieth", "chain", verify, arrays="torch", randomness="global", sizes=(1, 2))
