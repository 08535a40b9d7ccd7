"""Siblings are tested against what is left, but deep in a tree only once."""

from typing import Any

from specsim.conform.museum._frames import tree
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array, TokenTree

WRONG = "Below the root a second sibling that is rejected leaves the residual as it was."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def choose(p: Array, q: Array, drafted: TokenTree, node: int, kids: list[int], random: Any) -> tuple[int | None, int]:
    """Test one child after the other; the root's residual is right."""
    law, row = p[node + 1], q[node + 1]
    for i, c in enumerate(kids):
        x = int(drafted.tokens[c])
        if random.random() * row[x] < law[x]:
            return c, x
        if node < 0 or i == 0:
            law = residual(law, row)
            law = law / law.sum()
    return None, draw(random, law)


subject = tree(__name__, choose)
