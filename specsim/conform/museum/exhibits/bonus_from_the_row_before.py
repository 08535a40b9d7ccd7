"""The last row is not that of the bonus token."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "After a block that was kept whole the next token is drawn from the law of the position before."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise; the bonus token comes from the last draft's own row."""
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-2])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("bonus_from_the_row_before", "chain", run, sizes=SIZES)
