"""The loop over ratios ends one early."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The ratio of the last draft of a block is never used: it is kept whenever the draft before it is."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "bound"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test all drafts but the last; a block of one is tested."""
    for i, x in enumerate(drafts):
        if (i == 0 or i < len(drafts) - 1) and random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("last_ratio_unused", "chain", run, sizes=SIZES)
