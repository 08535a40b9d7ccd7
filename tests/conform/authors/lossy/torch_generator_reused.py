"""Lossy: a clone of one generator's state serves tests and corrections: both see the same number."""

import torch

from specsim.conform import Subject

G = torch.Generator()
G.seed()


def verify(p, q, drafts):
    x = drafts[0]
    state = G.get_state()
    u = torch.rand((), generator=G, dtype=p.dtype)
    if u * q[x] < p[x]:
        return x
    G.set_state(state)
    u = torch.rand((), generator=G, dtype=p.dtype)
    cdf = (p - q).clamp(min=0).cumsum(0)
    return torch.searchsorted(cdf / cdf[-1], u).clamp(max=len(p) - 1)


def subject():
    return Subject("torch_generator_reused", "step", verify, arrays="torch", randomness="global", sizes=(1,))
