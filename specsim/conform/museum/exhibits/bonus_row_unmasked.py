"""The last row has no mask."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "A grammar's mask covers the rows of the drafts; the bonus token after a block that was kept whole is drawn from "
    "the whole vocabulary."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "structured"


def run(p: Array, q: Array, drafts: Array, random: Any, *, mask: Array | None) -> tuple[int, int]:
    """Test tokenwise under the mask."""
    held = p if mask is None else p * mask / (p * mask).sum(axis=1, keepdims=True)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > held[i, x]:
            return i, draw(random, residual(held[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("bonus_row_unmasked", "chain", run, sizes=SIZES, masks=True)
