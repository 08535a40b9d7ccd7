"""Lossless: tests by the global generator, corrections by a torch.Generator made at import."""

import torch

from specsim.conform import Subject

GENERATOR = torch.Generator()
GENERATOR.seed()


def verify(p, q, drafts):
    x = drafts[0]
    if torch.rand((), dtype=p.dtype) * q[x] < p[x]:
        return x
    return torch.multinomial((p - q).clamp(min=0), 1, generator=GENERATOR)


def subject():
    return Subject("torch_generator_of_the_module", "step", verify, arrays="torch", randomness="global", sizes=(1,))
