"""One coin tests a whole level."""

from typing import Any

from specsim.conform.museum._frames import tree
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array, TokenTree

WRONG = "The siblings of a level are tested with one coin, which is large where the first of them was rejected."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def choose(p: Array, q: Array, drafted: TokenTree, node: int, kids: list[int], random: Any) -> tuple[int | None, int]:
    """Recursive rejection, with a coin per level."""
    left, coin = p[node + 1], random.random()
    for c in kids:
        if coin * q[node + 1, drafted.tokens[c]] < left[drafted.tokens[c]]:
            return c, -1
        left = residual(left, q[node + 1])
        left = left / left.sum()
    return None, draw(random, left)


subject = tree(__name__, choose, shapes=((-1, -1), (-1, 0)))
