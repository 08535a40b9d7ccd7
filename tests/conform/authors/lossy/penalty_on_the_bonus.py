"""Lossy: a repetition penalty of 1.2 for tokens of the block reaches the bonus, and nothing else."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    for i, x in enumerate(drafts):
        if torch.rand((), dtype=p.dtype) * q[i, x] >= p[i, x]:
            return i, torch.multinomial((p[i] - q[i]).clamp(min=0), 1)[0]
    logits = p[-1].log()
    logits[drafts] *= 1.2
    return len(drafts), torch.multinomial(logits.softmax(-1), 1)[0]


def subject():
    return Subject("penalty_on_the_bonus", "chain", verify, arrays="torch", randomness="global", sizes=(1, 2))
