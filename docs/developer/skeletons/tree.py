"""Own: draw from the target and follow the draw into the tree while it is there (the rule `target_only`, written anew).

Law.         y ~ p at the root; while y is a child, y ~ p after it. The tokens on the way are kept, the last y follows.
Theorem.     T20: the output law is p for any tree whatever: q is not read.
Acceptance.  E[n] = E sum over the different texts in the tree of the probability that p writes them.
Randomness.  u[d] draws the token of depth d + 1.
Cost.        O(V) a level.
Paper.       Li et al., EAGLE-2, arXiv:2406.16858.
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.base.arrays import pick, row_at
from specsim.types import Array, TokenTree
from specsim.verify.tree._walk import Level, levels, most_children, walk, walk_law

CHILDREN = ("deterministic", "iid", "paths")  # the schemes of the trees that it verifies
EXACT = True  # only + - * / and comparisons: the checks run it on Fractions
THEOREM = "open"  # or the note in proofs/, as "T20"
PAPER = "arXiv:2406.16858"


class Plan(NamedTuple):
    """What `prepare` works out once for many draws."""

    p: Array  # (..., n+1, V)
    levels: list[Level]


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """Target rows (..., n+1, V) after the root and after every node; the draft's are not read."""
    return Plan(p, levels(tree))


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (last accepted node, next token)."""
    return walk_law(plan.levels, [plan.p[..., level.rows, :] for level in plan.levels])


def uniforms(tree: TokenTree) -> int:
    """How many uniforms `verify` reads: one a level, and one after the last."""
    return len(most_children(tree)) + 1


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(Last accepted node (...), next token (...)) from u (..., uniforms)."""

    def emit(d: int, row: Array, drafts: Array, count: Array, going: Array) -> Array:
        return pick(row_at(plan.p, row), u[..., d])

    return walk(plan.levels, tuple(plan.p.shape[:-2]), emit)
