"""Lossless: the import takes three seconds, the first call two."""

import time
from functools import cache

import torch

from specsim.conform import Subject

time.sleep(3)


@cache
def weights():
    time.sleep(2)
    return torch.ones(1)


def verify(p, q, drafts):
    x = drafts[0]
    if torch.rand(1, dtype=p.dtype) < weights() * p[x] / q[x]:
        return x
    return torch.multinomial((p - q).relu(), 1).item()


def subject():
    return Subject("slow_to_start", "step", verify, arrays="torch", randomness="global", sizes=(1,))
