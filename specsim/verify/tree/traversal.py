"""Traversal verification: children before their parent, each with the weight that its path has left.

Law.         V(x, a), a_root = 1. For the children y_1, y_2, ... of x in the order drawn: call
             V(y_k, min(1, a p(y_k)/ q(y_k))); if that fails, p becomes (a p - q)+ normalised, a
             becomes S/(S + 1 - a), S = sum (a p - q)+ (1 stays 1), and q loses y_k and is
             normalised. When all have failed x itself succeeds with probability a. The text up to
             the node that succeeds is kept; the next token comes from the p that is left there. A
             sibling equal to an earlier one is passed over (what hangs below it is lost); "paths"
             are merged, so there the children of a text are those of all paths that have it.
Theorem.     T21: V(x, a) succeeds with probability a and then emits p's law: lossless. On one path
             it is block verification; with one level, recursive rejection without replacement.
Acceptance.  E[n] = E sum over nodes of P(V is called there) times the weight it is called with;
             mostly, but not always, more than `tokenwise` keeps.
Randomness.  u[i] is node i's own test; u[n] draws the token.
Cost.        O(V) for every child.
Paper.       Weng et al., traversal verification, arXiv:2505.12398.
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.base.arrays import array_namespace, at, chosen, excess, mass, normalize_or, pick, row_at, wide
from specsim.draft.without_replacement import without
from specsim.types import Array, TokenTree
from specsim.verify.tree._walk import Level, by_node, levels, of_level, post_order, to_children

CHILDREN = ("without_replacement", "iid", "paths", "beam")
CHAIN = "block"
STEPS = {"without_replacement": "recursive_wor", "beam": "recursive_wor"}
EXACT = True
THEOREM = "T21"
PROVED = {"lossless (if drawn one by one)": "traversal_lossless"}
PAPER = "arXiv:2505.12398"


class Plan(NamedTuple):
    # (..., n+1): probability that a node succeeds once its children have failed; 1 at the root.
    chance: Array
    rows: Array  # (..., n+1, V): what is left of p there, unnormalised
    instead: Array  # (..., n+1, V): the row where nothing is left
    levels: list[Level]
    order: Array | None  # (n,): the nodes in the order of their tests, where the shape decides it


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """Weights and what is left of p (..., n+1, V), computed from the root down.

    What a last child leaves is needed by no node below it: it is computed for all levels in one
    pass.
    """
    xp, plan = array_namespace(p, q), levels(tree)
    weight, states = wide(0 * p[..., :1, 0] + 1), []

    def failed(weight: Array, row: Array, draft: Array) -> tuple[Array, Array]:
        """(a p - q)+, and the weight S/(S + 1 - a), after a child has failed."""
        over = excess(xp.astype(weight, p.dtype)[..., None] * row, draft)
        left, is_full = mass(over), weight >= 1
        return over, xp.where(is_full, 1, left / xp.where(is_full, 1, left + (1 - weight)))

    for level in plan:
        row, draft = (of_level(w, level) for w in (p, q))
        child_weights = []
        most = level.tokens.shape[-1]
        # Try the children in order. Once those before it have
        # failed, each has weight min(1, a p/q).
        for k in range(most):
            x, tried = level.tokens[..., k], level.first[..., k]
            reached, drawn = weight * wide(at(row, x)), wide(at(draft, x))
            is_less = reached < drawn
            child_weights.append(xp.where(is_less, reached / xp.where(is_less, drawn, 1), 1))
            if k + 1 < most:
                over, lighter = failed(weight, row, draft)
                row = chosen(tried[..., None], normalize_or(over, row), row)
                draft = chosen(tried[..., None], without(draft, x), draft)
                weight = xp.where(tried, lighter, weight)
        tried = level.first[..., -1] if most else weight < 0
        states.append((weight[..., None], row, draft if most else row, tried[..., None]))
        if level.below:
            # A single child needs no copy.
            first_weight = child_weights[0]
            stacked = first_weight[..., None] if most == 1 else xp.stack(child_weights, axis=-1)
            weight = to_children(level, stacked)
    # The failure of each node's last child, for all levels in one pass.
    weights, row, draft, last = (by_node(plan, list(parts)) for parts in zip(*states, strict=True))
    over, lighter = failed(weights[..., 0], row, draft)
    chance = xp.where(last[..., 0], lighter, weights[..., 0])
    return Plan(chance, chosen(last, over, row), row, plan, post_order(tree))


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (last accepted node, next token)."""
    xp, rows = array_namespace(plan.rows), normalize_or(plan.rows, plan.instead)
    # From the leaves up: the probability that a node fails if it is called, which is that all its
    # children do and then itself; `fails` has the children's, level by level.
    fails, lost = [], None
    for level in reversed(plan.levels):
        children = range(level.tokens.shape[-1])
        child_fails = [xp.where(level.first[..., k], _at_places(lost, level, k), 1) for k in children]
        fails.append(child_fails)
        lost = 1 - plan.chance[..., level.rows]
        for factor in child_fails:
            lost = lost * factor
    # From the root down: the probability that a node is called, and all its children fail.
    called, parts = xp.ones_like(plan.chance[..., :1]), []
    for level, child_fails in zip(plan.levels, reversed(fails), strict=True):
        calls = []
        for factor in child_fails:
            calls.append(called)
            called = called * factor
        chance = called * plan.chance[..., level.rows]
        parts.append(xp.astype(chance, rows.dtype)[..., None] * rows[..., level.rows, :])
        if level.below:
            called = to_children(level, xp.stack(calls, axis=-1))
    return by_node(plan.levels, parts)


def uniforms(tree: TokenTree) -> int:
    """One test per node, one draw."""
    return len(tree.depth) + 1


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(Last accepted node (...), next token (...)) from u (..., n+1)."""
    node = _first_success(plan, u)
    return node, pick(normalize_or(row_at(plan.rows, node), row_at(plan.instead, node)), u[..., -1])


def _first_success(plan: Plan, u: Array) -> Array:
    """Return the row (...) of the node whose call succeeds first: 0 is the root, i+1 node i.

    A call of a node calls its children in order, and then does the node's own test, by uniform i; the
    root's test always passes. Merged paths have one node with the children of all, which only the
    tokens show: so they have no `plan.order`.
    """
    xp, n = array_namespace(plan.rows), plan.chance.shape[-1] - 1
    # The shape decides the order of the calls: the first node in it that passes its own test. A
    # node that is not called has weight 0, and never passes.
    if plan.order is not None and n:
        is_passed = u[..., :n] < plan.chance[..., 1:]
        in_order = is_passed[..., plan.order]
        first = xp.argmax(xp.astype(in_order, xp.uint8), axis=-1)
        return xp.where(xp.any(in_order, axis=-1), plan.order[first] + 1, 0)
    # Else from the leaves up: the row where the call of each node ends, -1 if it fails.
    end: Array = None
    for level in reversed(plan.levels):
        if level is plan.levels[0]:
            level_end = xp.broadcast_to(level.rows, level.count.shape)
        else:
            is_passed = u[..., level.rows - 1] < plan.chance[..., level.rows]
            level_end = xp.where(is_passed, level.rows, -1)
        # The first child that succeeds wins, so it is written last.
        for k in reversed(range(level.tokens.shape[-1])):
            child_end = _at_places(end, level, k)
            level_end = xp.where(level.first[..., k] & (child_end >= 0), child_end, level_end)
        end = level_end
    return end[..., 0]


def _at_places(values: Array, level: Level, k: int) -> Array:
    """Return the value of the k-th child of every node (..., W), from values (..., N) of the next level."""
    return array_namespace(values).take_along_axis(values, level.places[..., k], axis=-1)
