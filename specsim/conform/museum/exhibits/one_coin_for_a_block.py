"""One uniform is drawn for all positions."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "One coin tests every position of a block: a draft that follows an accepted one is accepted too easily."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise, with the same coin everywhere."""
    u = random.random()
    for i, x in enumerate(drafts):
        if u * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("one_coin_for_a_block", "chain", run, sizes=SIZES)
