"""Target only: draw from the target and follow the draw into the tree for as long as it is there.

Law.         y ~ p at the root; while y is a child, y ~ p after it. The tokens on the way are kept,
             the last y follows.
Theorem.     T20: the output law is p for any tree whatever, however it was chosen: q is not read.
             For a tree chosen without draws (one-hot q) no lossless rule keeps more. With one-hot p
             it is greedy decoding.
Acceptance.  E[n] = E sum over the different texts in the tree of the probability that p writes
             them.
Randomness.  u[d] draws the token of depth d + 1.
Cost.        O(V) a level.
Paper.       Li et al., EAGLE-2, arXiv:2406.16858; Cai et al., Medusa, arXiv:2401.10774 (trees of
             likely tokens); naive sampling in Miao et al., SpecInfer, arXiv:2305.09781.
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.base.arrays import pick, row_at
from specsim.types import Array, TokenTree
from specsim.verify.tree._walk import Level, levels, most_children, walk, walk_law

CHILDREN = ("deterministic", "iid", "paths", "without_replacement", "beam", "greedy", "hub")
STEPS = dict.fromkeys(CHILDREN, "naive")
EXACT = True
THEOREM = "T20"
PROVED = {"lossless": "target_only_lossless", "acceptance": "target_only_length"}
PAPER = "arXiv:2406.16858"


class Plan(NamedTuple):
    p: Array  # (..., n+1, V)
    levels: list[Level]


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """Target rows (..., n+1, V) after the root and after every node; q is not read."""
    return Plan(p, levels(tree))


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (last accepted node, next token)."""
    return walk_law(plan.levels, [plan.p[..., level.rows, :] for level in plan.levels])


def uniforms(tree: TokenTree) -> int:
    """One a level, and one after the last."""
    return len(most_children(tree)) + 1


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(Last accepted node (...), next token (...)) from u (..., uniforms)."""

    def emit(d: int, row: Array, drafts: Array, count: Array, going: Array) -> Array:
        return pick(row_at(plan.p, row), u[..., d])

    return walk(plan.levels, tuple(plan.p.shape[:-2]), emit)
