"""Sequoia's dynamic program, against every tree of its size."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np

from specsim.claims.statements._bank import F
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.trees.best_shape import sequoia_tree, tree_value

SOURCE = "arXiv:2402.12374"
STATEMENT = "Its dynamic program finds the tree of N nodes with the most tokens a call, given acceptances by rank."
RANKS = np.array([F(3, 5), F(1, 5), F(1, 10)])
NODES = 5


def best(nodes: int) -> Fraction:
    """The largest value of all trees: node i hangs below any earlier node or the root."""
    shapes = product(*(range(-1, i) for i in range(nodes)))
    narrow = [parents for parents in shapes if max(parents.count(node) for node in parents) <= len(RANKS)]
    return max(Fraction(tree_value(np.array(parents), RANKS)) for parents in narrow)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    values = {n: sequoia_tree(RANKS, nodes=n).value for n in range(1, NODES + 1)}
    largest = {n: best(n) for n in values}
    return Settled(
        HOLDS if values == largest else REFUTED,
        "with == against every tree of up to five nodes; where acceptances depend on more than the rank of a draft "
        "nothing is said.",
        {f"{n} nodes": str(value) for n, value in values.items()},
    )
