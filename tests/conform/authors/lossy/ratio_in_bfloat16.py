"""Lossy: laws are float32, but the ratio is rounded to bfloat16, seven bits (about 1e-3)."""

import torch

from specsim.conform import Subject


def verify(p, q, drafts):
    x = drafts[0]
    ratio = (p[x].bfloat16() / q[x].bfloat16()).float()
    if torch.rand(()) < ratio:
        return x
    return torch.multinomial((p - q).clamp(min=0), 1)[0]


def subject():
    return Subject(
        "ratio_in_bfloat16", "step", verify, arrays="torch", dtype="float32", randomness="global", sizes=(1,)
    )
