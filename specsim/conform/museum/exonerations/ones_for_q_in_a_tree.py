"""Candidates of a tree are tested as if each had been certain."""

from typing import Any

import numpy as np

from specsim.conform.museum._frames import tree
from specsim.conform.museum._parts import draw
from specsim.types import Array, TokenTree

WRONG = (
    "It never reads q, and tests top candidates with q(x) = 1: given the candidates it draws from the target, "
    "whatever chose them."
)
THREAD = "https://github.com/SafeAILab/EAGLE/issues/183"
EXPECTED = "lossless"
PROPERTY = ""


def choose(p: Array, q: Array, drafted: TokenTree, node: int, kids: list[int], random: Any) -> tuple[int | None, int]:
    """Accept a child with its probability; take it out of the target's law otherwise."""
    left = p[node + 1]
    for c in kids:
        if random.random() * left.sum() < left[drafted.tokens[c]]:
            return c, -1
        left = np.where(np.arange(len(left)) == drafted.tokens[c], 0, left)
    return None, draw(random, left)


subject = tree(__name__, choose, shapes=((-1, -1), (-1, -1, 0)), scheme="greedy")
