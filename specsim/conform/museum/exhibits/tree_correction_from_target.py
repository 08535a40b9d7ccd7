"""Where a level fails, the target is drawn from as it is."""

from typing import Any

from specsim.conform.museum._parts import children, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array, TokenTree

WRONG = "Siblings are rejected one after the other with residuals, and the correction then comes from the whole target."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, tree: TokenTree, random: Any) -> tuple[list[int], int]:
    """Recursive rejection down the tree, without its last residual."""
    path: list[int] = []
    node = -1
    while True:
        left, hit = p[node + 1], None
        for c in children(tree, node):
            if random.random() * q[node + 1, tree.tokens[c]] <= left[tree.tokens[c]]:
                hit = c
                break
            left = residual(left, q[node + 1])
            left = left / left.sum()
        if hit is None:
            return path, draw(random, p[node + 1])
        path.append(hit)
        node = hit


def subject() -> Subject:
    """The tree, on NumPy."""
    return Subject("tree_correction_from_target", "tree", run, shapes=((-1,), (-1, -1)))
