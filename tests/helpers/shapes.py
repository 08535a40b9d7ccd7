"""Every small tree, and acceptances by rank to put on them."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

Array = Any


def ordered_trees(nodes: int) -> list[list[int]]:
    """Every shape of up to `nodes` nodes, each in one numbering (a node's parent is on the path to the node before)."""
    all_shapes: list[list[int]] = [[]]
    shapes = all_shapes
    for node in range(nodes):
        longer = []
        for parents in shapes:
            spine, at = [-1], node - 1
            while at >= 0:
                spine.append(at)
                at = parents[at]
            longer += [[*parents, parent] for parent in spine]
        all_shapes, shapes = all_shapes + longer, longer
    return all_shapes


def fractions(rng: np.random.Generator, count: int) -> Array:
    """Acceptance by rank: multiples of 1/12 that sum to at most 1, zeros included."""
    cuts = np.sort(rng.integers(0, 13, count))
    return np.array([Fraction(int(v), 12) for v in np.diff(np.concatenate([[0], cuts]))], dtype=object)
