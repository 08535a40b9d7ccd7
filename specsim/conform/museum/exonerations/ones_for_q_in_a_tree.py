"""Candidates of a tree are tested as if each had been certain."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import children, draw
from specsim.conform.subject import Subject
from specsim.types import Array, TokenTree

WRONG = (
    "It never reads q, and tests top candidates with q(x) = 1: given the candidates it draws from the target, "
    "whatever chose them."
)
THREAD = "https://github.com/SafeAILab/EAGLE/issues/183"
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, tree: TokenTree, random: Any) -> tuple[list[int], int]:
    """Accept a child with its probability; take it out of the target's law otherwise."""
    path: list[int] = []
    node = -1
    while True:
        left, hit = p[node + 1], None
        for c in children(tree, node):
            if random.random() * left.sum() <= left[tree.tokens[c]]:
                hit = c
                break
            left = np.where(np.arange(len(left)) == tree.tokens[c], 0, left)
        if hit is None:
            return path, draw(random, left)
        path.append(hit)
        node = hit


def subject() -> Subject:
    """The tree, on NumPy."""
    return Subject("ones_for_q_in_a_tree", "tree", run, shapes=((-1, -1), (-1, -1, 0)), scheme="greedy")
