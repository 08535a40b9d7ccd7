"""One coin is compared with products of clamped ratios."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = (
    "A single coin serves all positions of a block: compared with the running product of clamped ratios it is "
    "as good as new after every acceptance."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise: u < r1 r2 ... ri, given u < r1 ... r(i-1), has probability ri."""
    coin, passed = random.random(), 1.0
    for i, x in enumerate(drafts):
        passed *= min(1.0, p[i, x] / q[i, x])
        if coin >= passed:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


subject = chain(__name__, run)
