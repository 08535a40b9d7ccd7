"""The tree that a best-first heap makes of marginals: best for the marginals, and not always for their target."""

from __future__ import annotations

from fractions import Fraction as F
from itertools import product

import numpy as np

from specsim.claims.statements._coins import DEPTH, NODES, best_by_hand, coin
from specsim.claims.statements._verdict import HOLDS, REFUTED, Settled
from specsim.exact.one_pass import one_pass_draft, product_draft
from specsim.trees.likeliest import heap_tree
from specsim.trees.limits import deterministic_tokens, speed_of_light

SOURCE = "arXiv:2604.12989"
STATEMENT = (
    "Under a budget of nodes a best-first heap selects the continuations that most likely match the target, according "
    "to a surrogate that the draft's output defines: its laws at each position."
)


def settle() -> Settled:
    """Compute the verdict on the statement."""
    # Every pair of marginals in thirds: the heap's tree against all trees, both as the marginals value them.
    sides = [np.array([F(k, 3), 1 - F(k, 3)]) for k in range(4)]
    pairs = list(product(sides, repeat=2))
    drafts = [product_draft(np.array(rows)) for rows in pairs]
    holds = all(1 + heap_tree(draft, nodes=NODES, depth=DEPTH).reach.sum() == best_by_hand(draft) for draft in drafts)

    # What the target gives: one tree of marginals for two coins.
    targets = [coin(True), coin(False)]
    grown = heap_tree(one_pass_draft(targets[0], gamma=DEPTH), nodes=NODES, depth=DEPTH)
    values = sorted(deterministic_tokens(target, grown.tree) for target in targets)
    return Settled(
        HOLDS if holds else REFUTED,
        "no tree of as many nodes has more of the surrogate, the product of the marginals: it never grows along a "
        "path, so the likeliest texts are a tree. Valued by the target it fails: a coin that is copied and one that "
        "is turned have the same marginals and other best trees, so no tree made of marginals is best for both. The "
        "paper was read as its abstract.",
        {
            "pairs of marginals, in thirds": str(len(pairs)),
            "nodes": str(NODES),
            "coins: promised by the marginals": str(1 + grown.reach.sum()),
            "best, either coin": str(speed_of_light(targets[0], nodes=NODES, depth=DEPTH)),
            "the heap's tree, one coin": str(values[0]),
            "the heap's tree, the other": str(values[1]),
        },
    )
