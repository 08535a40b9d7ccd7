"""Where a level fails, the target is drawn from as it is."""

from typing import Any

from specsim.conform.museum._frames import tree
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array, TokenTree

WRONG = "Siblings are rejected one after the other with residuals, and the correction then comes from the whole target."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def choose(p: Array, q: Array, drafted: TokenTree, node: int, kids: list[int], random: Any) -> tuple[int | None, int]:
    """Recursive rejection, without its last residual."""
    left = p[node + 1]
    for c in kids:
        if random.random() * q[node + 1, drafted.tokens[c]] < left[drafted.tokens[c]]:
            return c, -1
        left = residual(left, q[node + 1])
        left = left / left.sum()
    return None, draw(random, p[node + 1])


subject = tree(__name__, choose, shapes=((-1,), (-1, -1)))
