"""Two coins of the same marginals and other best trees, on which statements about draft trees are settled."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import combinations, product
from typing import Any

import numpy as np

from specsim.types import Model

# Nodes of a tree, and its levels.
NODES, DEPTH = 3, 2


def coin(copied: bool) -> Model:
    """Return a coin whose next token is the same side, or the other one."""
    half = np.array([F(1, 2), F(1, 2)])
    return lambda text: np.array([F((text[0] == v) == copied) for v in (0, 1)]) if text else half


def best_by_hand(model: Model) -> Any:
    """Return the most tokens that a model of two tokens expects of any tree, over all trees of so many nodes."""
    reach: dict[tuple[int, ...], Any] = {(v,): model(())[v] for v in (0, 1)}
    reach |= {(v, w): reach[v,] * model((v,))[w] for v, w in product((0, 1), repeat=DEPTH)}
    trees = (
        nodes for nodes in combinations(reach, NODES) if all(len(text) == 1 or text[:1] in nodes for text in nodes)
    )
    return max(1 + sum((reach[text] for text in nodes), F(0)) for nodes in trees)
