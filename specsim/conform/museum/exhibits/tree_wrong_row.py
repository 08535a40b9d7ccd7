"""A node is verified with its neighbour's row."""

from typing import Any

from specsim.conform.museum._parts import children, draw
from specsim.conform.subject import Subject
from specsim.types import Array, TokenTree

WRONG = (
    "The rows of a tree are sliced one short: below the root every node's children are tested against the row "
    "of another node."
)
THREAD = "https://github.com/NVIDIA/TensorRT-LLM/pull/15098"
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, tree: TokenTree, random: Any) -> tuple[list[int], int]:
    """Walk down; the row after node i is taken to be row i."""
    path: list[int] = []
    node = -1
    while True:
        token = draw(random, p[max(node, 0)])
        hit = next((c for c in children(tree, node) if tree.tokens[c] == token), None)
        if hit is None:
            return path, token
        path.append(hit)
        node = hit


def subject() -> Subject:
    """The tree, on NumPy."""
    return Subject("tree_wrong_row", "tree", run, shapes=((-1, 0), (-1, -1, 0)))
