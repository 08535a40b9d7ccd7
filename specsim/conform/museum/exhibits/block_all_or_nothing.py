"""The product of two ratios decides on two drafts."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = "A block is kept whole or not at all, by the product of its ratios, with the correction of its first position."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """One test for the block."""
    ratio = 1.0
    for i, x in enumerate(drafts):
        ratio *= p[i, x] / q[i, x]
    if random.random() < ratio:
        return len(drafts), draw(random, p[-1])
    return 0, draw(random, residual(p[0], q[0]))


subject = chain(__name__, run)
