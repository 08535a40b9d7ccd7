"""Every branch has a target draw of its own."""

from typing import Any

from specsim.conform.museum._parts import children, draw
from specsim.conform.subject import Subject
from specsim.types import Array, TokenTree

WRONG = "Each branch is compared with a draw of its own from the target, and the longest that agrees wins."
THREAD = "https://github.com/foundation-model-stack/fms-extras/pull/17"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, tree: TokenTree, random: Any) -> tuple[list[int], int]:
    """Keep the first child that equals its own draw; else draw again."""
    path: list[int] = []
    node = -1
    while True:
        hit = next((c for c in children(tree, node) if draw(random, p[node + 1]) == tree.tokens[c]), None)
        if hit is None:
            return path, draw(random, p[node + 1])
        path.append(hit)
        node = hit


def subject() -> Subject:
    """The tree, on NumPy."""
    return Subject("branches_drawn_apart", "tree", run, shapes=((-1,), (-1, -1)))
