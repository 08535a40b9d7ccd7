"""Zeros are replaced before the logarithm."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "Probabilities are raised to a small floor, so that a token which the target forbids is emitted."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "degenerate"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise on laws that have no zeros."""
    p, q = p.clip(1e-3), q.clip(1e-3)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("laws_floored", "chain", run, sizes=SIZES)
