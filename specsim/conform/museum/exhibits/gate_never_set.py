"""Acceptance waits for a flag of another mode."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "Acceptance is gated on a flag that this mode never sets: every draft is rejected, and what is emitted is "
    "always a correction."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise, where the cache was hit, which it never is."""
    hit = False
    for i, x in enumerate(drafts):
        if not hit or random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("gate_never_set", "chain", run, sizes=SIZES)
