"""Lossy: Medusa's typical acceptance, which is not declared."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    for i, x in enumerate(drafts):
        entropy = -(p[i] * torch.log(p[i] + 1e-5)).sum()
        if p[i, x] <= torch.minimum(torch.tensor(0.09), 0.3 * torch.exp(-entropy)):
            return i, torch.multinomial(p[i], 1)[0]
    return len(drafts), torch.multinomial(p[-1], 1)[0]


def subject():
    return Subject("typical_acceptance", "chain", verify, arrays="torch", randomness="global", sizes=(1, 2))
