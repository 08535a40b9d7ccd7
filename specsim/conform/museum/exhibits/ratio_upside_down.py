"""The ratio is that of the draft to the target."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The test accepts with min(1, q/p), which prefers what the draft likes too much."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise, the laws swapped."""
    for i, x in enumerate(drafts):
        if random.random() * p[i, x] > q[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("ratio_upside_down", "chain", run, sizes=SIZES)
