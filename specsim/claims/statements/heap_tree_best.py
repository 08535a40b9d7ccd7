"""The tree that a best-first heap makes of marginals, against the best tree of the target they are the marginals of."""

from __future__ import annotations

from fractions import Fraction as F
from typing import Any

import numpy as np

from specsim.claims.statements._verdict import HOLDS, UNDER, Settled
from specsim.exact.one_pass import one_pass_draft
from specsim.trees.likeliest import heap_tree
from specsim.trees.limits import deterministic_tokens, speed_of_light

SOURCE = "arXiv:2604.12989, arXiv:2606.00487"
STATEMENT = "A best-first heap over a one-pass drafter's marginals gives the draft tree of most expected length."

NODES = 3


def _target(copied: bool) -> Any:
    """Return a coin whose next token is the same side, or the other one."""
    half = np.array([F(1, 2), F(1, 2)])
    return lambda text: np.array([F((text[0] == v) == copied) for v in (0, 1)]) if text else half


def settle() -> Settled:
    """Compute the verdict on the statement."""
    targets = [_target(True), _target(False)]
    draft = one_pass_draft(targets[0], gamma=2)
    grown = heap_tree(draft, nodes=NODES, depth=2)
    values = sorted(deterministic_tokens(target, grown.tree) for target in targets)
    best = speed_of_light(targets[0], nodes=NODES, depth=2)
    return Settled(
        UNDER if values[0] < best else HOLDS,
        "positions that do not depend on each other, for which the heap is exact. A coin that is copied and one that "
        "is turned have the same marginals and other best trees, so no tree made of marginals is best for both. The "
        "heap ranks texts by products, so no node is verified without its path; ranked by the target's conditionals "
        "it is exact for every target.",
        {
            "nodes": str(NODES),
            "promised by the marginals": str(1 + grown.reach.sum()),
            "best, either coin": str(best),
            "the heap's tree, one coin": str(values[0]),
            "the heap's tree, the other": str(values[1]),
        },
    )
