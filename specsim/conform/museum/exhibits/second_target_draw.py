"""The draw that decided is thrown away."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "A draft is kept if a fresh target draw equals it; otherwise the target is drawn from once more, which "
    "favours likely tokens."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Compare with a draw, and emit another."""
    for i, x in enumerate(drafts):
        if draw(random, p[i]) != x:
            return i, draw(random, p[i])
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("second_target_draw", "chain", run, sizes=SIZES)
