"""Acceptance thresholds of SGLang on a tree: siblings are tested in turn, by one number against a growing sum; lossy.

Law.         At a node with children x_1, ..., x_m, in their order, let S_k be the sum of p(x_j) for
             j <= k, and b_k = 1 if p(x_j) >= threshold_single for a j <= k, else
             min(1, S_k / threshold_acc). Child k is kept with probability b_k - b_(k-1); with
             probability 1 - b_m none is, and y ~ p without the children, normalised, follows.
Theorem.     T51: with both thresholds 1 this is `target_only`, so lossless. Else the bias at a node
             is sum_k (b_k - b_(k-1) - p(x_k))+. It is at least what acceptance gains, b_m - S_m, and
             more where a child is kept more rarely than p asks for: p = (1/2, 1/2), both drafted and
             threshold_acc = 1/2 pay 1/2 and gain nothing.
Acceptance.  b_m at the root is `acceptance`; E[n] from `transition`.
Randomness.  u[d] tests the children of the node of depth d; the last draws the token after them.
Cost.        O(V m) a level.
Paper.       SGLang 120affb, sgl-kernel/csrc/speculative/speculative_sampling.cuh
             (tree_speculative_sampling_target_only; both thresholds 1 by default). No paper.
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from array_api_compat import device

from specsim.base import check
from specsim.base.arrays import array_namespace, at, ids, is_exact, normalize_or, pick, positive_part, row_at
from specsim.types import Array, TokenTree
from specsim.verify.tree._walk import Level, levels, most_children, of_level, walk, walk_law

# Siblings are different tokens: of equal ones the kernel adds the probability twice.
CHILDREN = ("deterministic", "without_replacement", "beam", "greedy")
EXACT = True
THEOREM = "T51"
PAPER = ""

# The kernel divides by no less than this.
LEAST_ACC = Fraction(1, 10**9)


class Plan(NamedTuple):
    p: Array  # (..., n+1, V)
    levels: list[Level]
    single: Fraction | float
    acc: Fraction | float


def prepare(
    p: Array,
    q: Array,
    tree: TokenTree,
    threshold_single: Fraction = Fraction(2, 5),
    threshold_acc: Fraction = Fraction(3, 4),
) -> Plan:
    """Target rows (..., n+1, V) after the root and after every node; q is not read; thresholds in [0, 1]."""
    check.scalar(threshold_single, "threshold_single", "[0, 1]")
    check.scalar(threshold_acc, "threshold_acc", "[0, 1]")
    number = Fraction if is_exact(p) else float
    return Plan(p, levels(tree), number(threshold_single), max(number(threshold_acc), number(LEAST_ACC)))


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (last accepted node, next token)."""
    return walk_law(plan.levels, [_emitted(plan, of_level(plan.p, level), level) for level in plan.levels])


def acceptance(plan: Plan) -> Array:
    """Probability (...) that a child of the root is kept, given the tree."""
    root, law = plan.levels[0], plan.p[..., 0, :]
    if not root.tokens.shape[-1]:
        return 0 * law[..., 0]
    return _bounds(plan, law, root.tokens[..., 0, :], root.count[..., 0])[..., -1]


def bias(plan: Plan) -> Array:
    """TV distance (...) of the first token from p, given the tree."""
    root = plan.levels[0]
    law = _emitted(plan, of_level(plan.p, root), root)
    return array_namespace(law).sum(positive_part(law - plan.p[..., :1, :]), axis=-1)[..., 0]


def uniforms(tree: TokenTree) -> int:
    """One a level with children, one for the token after them."""
    return len(most_children(tree)) + 1


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(Last accepted node (...), next token (...)) from u (..., uniforms)."""

    def emit(d: int, row: Array, drafts: Array, count: Array, going: Array) -> Array:
        law = row_at(plan.p, row)
        if not drafts.shape[-1]:
            return pick(law, u[..., -1])
        # The first child whose bound is above the number is kept.
        xp = array_namespace(law)
        passed = u[..., d, None] < _bounds(plan, law, drafts, count)
        kept = at(drafts, xp.argmax(xp.astype(passed, drafts.dtype), axis=-1))
        return xp.where(xp.any(passed, axis=-1), kept, pick(_others(law, drafts, count), u[..., -1]))

    return walk(plan.levels, tuple(plan.p.shape[:-2]), emit)


def _bounds(plan: Plan, law: Array, tokens: Array, count: Array) -> Array:
    """Return b_k (..., M): the probability that one of the first k children is kept, at rows (..., V) of p."""
    xp, is_child = array_namespace(law), _are_children(tokens, count)
    drafted = xp.where(is_child, xp.take_along_axis(law, tokens, axis=-1), 0 * law[..., :1])
    total = xp.cumulative_sum(drafted, axis=-1)
    # A likely child is kept whatever the number is, and ends the search.
    is_sure = xp.cumulative_sum(xp.astype(is_child & (drafted >= plan.single), tokens.dtype), axis=-1) > 0
    return xp.where(is_sure | (total >= plan.acc), xp.ones_like(total), total / plan.acc)


def _others(law: Array, tokens: Array, count: Array) -> Array:
    """Return p without the children, normalised; p itself where nothing is left."""
    others, is_child = law, _are_children(tokens, count)
    for k in range(tokens.shape[-1]):
        is_drafted = (ids(law) == tokens[..., k : k + 1]) & is_child[..., k : k + 1]
        others = array_namespace(law).where(is_drafted, 0, others)
    return normalize_or(others, law)


def _emitted(plan: Plan, law: Array, level: Level) -> Array:
    """Return the law (..., W, V) of the token that follows each node of a level."""
    xp, tokens = array_namespace(law), level.tokens
    if not tokens.shape[-1]:
        return law
    bounds = _bounds(plan, law, tokens, level.count)
    emitted = (1 - bounds[..., -1:]) * _others(law, tokens, level.count)
    for k in range(tokens.shape[-1]):
        kept = bounds[..., k : k + 1] - (bounds[..., k - 1 : k] if k else 0)
        emitted = emitted + xp.where(ids(law) == tokens[..., k : k + 1], kept, 0 * kept)
    return emitted


def _are_children(tokens: Array, count: Array) -> Array:
    """Booleans (..., M): places that hold a child."""
    places = np.arange(tokens.shape[-1])
    return array_namespace(tokens).asarray(places, device=device(tokens)) < count[..., None]
