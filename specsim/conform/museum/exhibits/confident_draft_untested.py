"""A shortcut for tokens that the target likes."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "A draft that the target gives 0.99 or more is kept without a test."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "degenerate"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise where the target is in doubt."""
    for i, x in enumerate(drafts):
        if p[i, x] < 0.99 and random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("confident_draft_untested", "chain", run, sizes=SIZES)
