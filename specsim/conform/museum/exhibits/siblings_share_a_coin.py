"""One coin tests a whole level."""

from typing import Any

from specsim.conform.museum._parts import children, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array, TokenTree

WRONG = "The siblings of a level are tested with one coin, which is large where the first of them was rejected."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, tree: TokenTree, random: Any) -> tuple[list[int], int]:
    """Recursive rejection down the tree, a coin per level."""
    path: list[int] = []
    node = -1
    while True:
        left, coin, hit = p[node + 1], random.random(), None
        for c in children(tree, node):
            if coin * q[node + 1, tree.tokens[c]] <= left[tree.tokens[c]]:
                hit = c
                break
            left = residual(left, q[node + 1])
            left = left / left.sum()
        if hit is None:
            return path, draw(random, left)
        path.append(hit)
        node = hit


def subject() -> Subject:
    """The tree, on NumPy."""
    return Subject("siblings_share_a_coin", "tree", run, shapes=((-1, -1), (-1, 0)))
