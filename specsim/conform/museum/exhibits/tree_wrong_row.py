"""A node is verified with its neighbour's row."""

from typing import Any

from specsim.conform.museum._frames import tree
from specsim.conform.museum._parts import draw
from specsim.types import Array, TokenTree

WRONG = (
    "The rows of a tree are sliced one short: below the root every node's children are tested against the row "
    "of another node."
)
THREAD = "https://github.com/NVIDIA/TensorRT-LLM/pull/15098"
EXPECTED = "convicted"
PROPERTY = "joint"


def choose(p: Array, q: Array, drafted: TokenTree, node: int, kids: list[int], random: Any) -> tuple[int | None, int]:
    """Draw from the target; the row after node i is taken to be row i."""
    token = draw(random, p[max(node, 0)])
    return next((c for c in kids if drafted.tokens[c] == token), None), token


subject = tree(__name__, choose, shapes=((-1, 0), (-1, -1, 0)))
