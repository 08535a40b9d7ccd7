"""Tokenwise verification of a tree: a step rule at the root, then at the child it emits, until its token is no child.

Law.         At node x a step rule turns x's children, its drafts, into one token. If a child has it
             the walk goes on there (at the first of equal siblings; what hangs below the others is
             lost), else the token is the last. After a leaf it comes from p. "paths" are merged: at
             a text that m of the K paths share, the step rule has m drafts.
Theorem.     T19: lossless if the step rule is. On one path it is tokenwise verification of chains.
Acceptance.  E[n] = E sum_i prod_{j to i} T_j(x_j), T the step rule's kernels along the way to node
             i.
Randomness.  For every level as many uniforms as its step rule needs; one for the level of the
             deepest leaves.
Cost.        One step rule a level; `transition` one a node.
Paper.       Miao et al., SpecInfer, arXiv:2305.09781 (recursive on i.i.d. children); SpecTr,
             arXiv:2310.15141 (K-SEQ on paths); Jeon et al., RSD, arXiv:2402.14160, and Sequoia,
             arXiv:2402.12374 (without replacement).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import ModuleType
from typing import NamedTuple

import numpy as np
from array_api_compat import is_numpy_array

from specsim.base.arrays import array_namespace, pick, row_at
from specsim.discover import Rule, find, name_of
from specsim.trees.topology import SIBLINGS
from specsim.types import Array, TokenTree
from specsim.verify.lookup import step_rule
from specsim.verify.tree._walk import Level, levels, most_children, walk, walk_law

# How siblings were drawn -> the step rule, unless another is named.
STEPS = {
    "iid": "recursive",
    "paths": "recursive",
    "without_replacement": "recursive_wor",
    "beam": "recursive_wor",
    "greedy": "greedy_draft",
    "hub": "spechub",
    "deterministic": "naive",
}
CHILDREN = tuple(STEPS)
CHAIN = "tokenwise"
EXACT = True
THEOREM = "T19"
PROVED = {"lossless (if its step is)": "walk_lossless"}
PAPER = "arXiv:2305.09781"


class Plan(NamedTuple):
    p: Array  # (..., n+1, V)
    q: Array
    step: ModuleType
    levels: list[Level]


def prepare(p: Array, q: Array, tree: TokenTree, step: Rule | None = None) -> Plan:
    """Plan of rows (..., n+1, V) after the root and every node; the step rule is a name or module."""
    return Plan(p, q, _step_rule(tree, step), levels(tree))


def transition(plan: Plan) -> Array:
    """Joint law (..., n+1, V) of (last accepted node, next token)."""
    # The law of the step rule at every node, level by level.
    rows = []
    for level in plan.levels:
        p, q = (w[..., level.rows, :] for w in (plan.p, plan.q))

        def law(m: int, p: Array = p, q: Array = q, x: Array = level.tokens) -> Array:
            """Return the step rule's law (..., W, V) for m children."""
            return plan.step.transition(plan.step.prepare(p, q, m), x[..., :m]) if m else p

        rows.append(_by_count(level.count, _occurring(level.count, level), law))
    return walk_law(plan.levels, rows)


def uniforms(tree: TokenTree, step: Rule | None = None) -> int:
    """The step rule's own for every level, and one after the last."""
    return sum(_needs(_step_rule(tree, step), most) for most in [*most_children(tree), 0])


def verify(plan: Plan, u: Array) -> tuple[Array, Array]:
    """(Last accepted node (...), next token (...)) from u (..., uniforms)."""
    # The first uniform of each level.
    step, start = plan.step, [0]
    for level in plan.levels:
        start.append(start[-1] + _needs(step, level.tokens.shape[-1]))

    def emit(d: int, row: Array, drafts: Array, count: Array, going: Array) -> Array:
        """Return the token that the step rule emits on level d, as `walk` asks for it."""
        p, q = (row_at(w, row) for w in (plan.p, plan.q))

        def token(m: int) -> Array:
            """Return the token where there are m children; without any it is drawn from p."""
            if m == 0:
                return pick(p, u[..., start[d]])
            return step.verify(step.prepare(p, q, m), drafts[..., :m], u[..., start[d] : start[d] + step.uniforms(m)])

        return _by_count(count, _occurring(count, plan.levels[d], going), token)

    return walk(plan.levels, tuple(plan.p.shape[:-2]), emit)


def _step_rule(tree: TokenTree, name: Rule | None) -> ModuleType:
    """Return the step rule; ValueError if it cannot verify siblings of the tree's scheme."""
    name, most = STEPS[tree.scheme] if name is None else name, max(most_children(tree), default=1)
    # The rule "naive" looks at no draft, so it verifies siblings of any scheme.
    if name == "naive":
        return step_rule(name, most)
    if tree.scheme == "deterministic":
        raise ValueError(
            f"step {name_of(find('step', name))!r} verifies siblings drawn from q; those of a tree of scheme "
            "'deterministic' were chosen, which only 'naive' may ignore: not lossless"
        )
    # A single child is a draw from q under every scheme.
    drawn = SIBLINGS.get(tree.scheme, tree.scheme)
    return step_rule(name, most, None if most == 1 else drawn)


def _needs(step: ModuleType, most: int) -> int:
    """Number of uniforms that the step rule needs for up to `most` children; one without any."""
    return max((step.uniforms(m) for m in range(1, most + 1)), default=1)


def _occurring(count: Array, level: Level, going: Array = True) -> Iterable[int]:
    """Numbers of children to prepare for: in NumPy those that occur; elsewhere all possible ones."""
    if is_numpy_array(level.count):
        return [int(m) for m in np.unique(count[going])]
    return range(level.tokens.shape[-1] + 1)


def _by_count(count: Array, occurring: Iterable[int], f: Callable[[int], Array]) -> Array:
    """Return the array that is f(m) wherever the number of children is m."""
    result: Array = None
    for m in occurring:
        values = f(m)
        is_count = count == m
        if values.ndim > count.ndim:
            is_count = is_count[..., None]
        result = values if result is None else array_namespace(values).where(is_count, values, result)
    return result
