"""The difference is not clamped, but made positive."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The correction is drawn from the absolute value of p - q: tokens that were drafted too often come back."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise; the residual is the absolute difference."""
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, abs(p[i] - q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("residual_absolute", "chain", run, sizes=SIZES)
