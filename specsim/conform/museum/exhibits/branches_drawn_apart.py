"""Every branch has a target draw of its own."""

from typing import Any

from specsim.conform.museum._frames import tree
from specsim.conform.museum._parts import draw
from specsim.types import Array, TokenTree

WRONG = "Each branch is compared with a draw of its own from the target, and the longest that agrees wins."
THREAD = "https://github.com/foundation-model-stack/fms-extras/pull/17"
EXPECTED = "convicted"
PROPERTY = "marginal"


def choose(p: Array, q: Array, drafted: TokenTree, node: int, kids: list[int], random: Any) -> tuple[int | None, int]:
    """Keep the first child that equals its own draw; else draw again."""
    hit = next((c for c in kids if draw(random, p[node + 1]) == drafted.tokens[c]), None)
    return hit, draw(random, p[node + 1]) if hit is None else -1


subject = tree(__name__, choose, shapes=((-1,), (-1, -1)))
