"""Lifting: any step rule, run at every node of a tree for the part of the target that the node may still claim.

Law.         Node x has a weight a, 1 at the root. The step rule is run at x, on the children drawn
             there, for target (a p, 1 - a): one outcome more, "elsewhere", which no child is; T is
             its law. Children are tried in the order drawn, y with weight T(y)/(1 - T of the
             children before it). If no node below is kept, x itself is, with probability
             T(others)/(T(others) + T(elsewhere)), others being the tokens that are no child of x;
             the next token then has the law T on them. So a leaf is kept with probability a.
             "paths" are merged: the children of a text are those of all paths that have it. Of
             other equal siblings only the first is tried (what hangs below the others is lost).
Theorem.     T23: run one tree and continue from the target: the joint law is the target's, for any
             lossless step rule. A chain gives block verification; recursive rejection without
             replacement, traversal verification.
Acceptance.  A node that is tried is kept, or one below it, with probability a on average over what
             is drawn below it.
Randomness.  u[i] decides whether node i is kept if none below is; u[n] draws the token after it.
Cost.        The step rule's transition, once for each level and number of siblings on it.
Paper.       Step plans for a target scaled by the acceptance of the prefix are Weng et al., UniVer,
             arXiv:2605.04543; the step with one outcome more is this project's, and the optimal
             plan is T08's.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType

from array_api_compat import device, is_numpy_array

from specsim.base.arrays import array_namespace, ids, is_exact, wide
from specsim.discover import Rule, facts
from specsim.trees.topology import SIBLINGS
from specsim.types import Array, Draws, TokenTree
from specsim.verify.lookup import step_rule
from specsim.verify.tree import traversal
from specsim.verify.tree._walk import Level, by_node, levels, most_children, of_level, post_order, to_children

STEPS = {
    "iid": "optimal",
    "paths": "optimal",
    "without_replacement": "recursive_wor",
    "beam": "recursive_wor",
    "greedy": "greedy_draft",
}
CHILDREN = tuple(STEPS)
ALSO = ("distinct",)  # with the `draws` of the tree
CHAIN = "block"
EXACT = True
THEOREM = "T23"
PROVED = {"lossless (if its step is)": "lifted_lossless"}
PAPER = "arXiv:2605.04543"

Counts = Callable[[Array], Draws]
Plan = traversal.Plan
transition, verify = traversal.transition, traversal.verify  # the same once prepared


def prepare(p: Array, q: Array, tree: TokenTree, step: Rule | None = None, draws: Counts | None = None) -> Plan:
    """Plan with T at every node; "distinct" siblings need the `draws` that draw_tree was given."""
    if (tree.scheme == "distinct") != (draws is not None):
        raise ValueError(f"scheme {tree.scheme!r} {'takes no' if draws else 'needs'} draws")
    siblings = SIBLINGS.get(tree.scheme, tree.scheme)
    rule = step_rule(step or STEPS.get(tree.scheme, "optimal"), max(most_children(tree), default=1), siblings)
    xp, p = array_namespace(p, q), wide(p)
    shape, laws, ends, weights = levels(tree), [], [], []
    weight = 1 + 0 * p[..., 0, :1]
    for level in shape:
        # T: the law of the step rule at each node, for the target (a p, 1 - a).
        weights.append(weight[..., None])
        target = xp.concat([weight[..., None] * of_level(p, level), 1 - weight[..., None]], axis=-1)
        law = _law(rule, target, of_level(q, level), level, draws)
        # Integers among Fractions would divide to floats.
        if is_exact(law):
            law = law * Fraction(1)
        laws.append(law)
        ends.append(_without_children(law[..., :-1], level))
        # Weights of the children: T(y)/(1 - T of the children before it), at most 1, and 0 at 0/0.
        if level.below:
            goes = xp.where(level.first, xp.take_along_axis(law, level.tokens, axis=-1), 0)
            left = 1 - (xp.cumulative_sum(goes, axis=-1) - goes)
            is_less = goes < left
            ratio = goes / xp.where(is_less, left, 1)
            goes = xp.where(is_less, ratio, xp.where(goes > 0, 1, 0 * goes))
            weight = to_children(level, goes)
    # T(others)/(T(others) + T(elsewhere)), 0/0 being 1. A node
    # without weight is never tried: there T(others) is 0.
    rest = by_node(shape, ends)
    others = xp.where(by_node(shape, weights)[..., 0] > 0, xp.sum(rest, axis=-1), 0)
    total = others + by_node(shape, laws)[..., -1]
    chance = xp.where(total > 0, others / xp.where(total > 0, total, 1), 1)
    return Plan(chance, rest, p, shape, post_order(tree))


def uniforms(tree: TokenTree, step: Rule | None = None) -> int:
    """One test per node, one draw, whatever the step rule."""
    return traversal.uniforms(tree)


def _law(rule: ModuleType, target: Array, q: Array, level: Level, draws: Counts | None) -> Array:
    """T (..., W, V+1), the step rule's law at every node; the target where there are no children."""
    xp, count = array_namespace(target), level.count[..., None]
    # Rows of q after leaves may hold anything. No draft is "elsewhere", the last outcome.
    q = xp.where(count > 0, q, target[..., :-1])
    longer = xp.concat([q, xp.zeros_like(q[..., :1])], axis=-1)
    most, law = level.tokens.shape[-1], target
    # A rule for distinct drafts takes any number of them at once, -1 where there is none.
    if most and "distinct" in facts(rule).schemes:
        seen = Draws(1 if most == 1 else xp.where(level.count > 0, level.count, 1), 0, most)
        number = seen if draws is None or most == 1 else draws(q)
        drafts = xp.where(xp.arange(most, device=device(count)) < count, level.tokens, -1)
        return xp.where(count > 0, rule.transition(rule.prepare(target, longer, number), drafts), target)
    # Other rules are planned for each number of drafts; in NumPy, for those that occur: elsewhere a
    # look would wait for the device.
    for k in range(1, most + 1):
        rows = count == k
        if not is_numpy_array(rows) or xp.any(rows):
            law = xp.where(rows, rule.transition(rule.prepare(target, longer, k), level.tokens[..., :k]), law)
    return law


def _without_children(law: Array, level: Level) -> Array:
    """Return the law (..., W, V) with 0 at each node's children."""
    xp = array_namespace(law)
    for k in range(level.tokens.shape[-1]):
        is_child = (ids(law) == level.tokens[..., k : k + 1]) & level.first[..., k : k + 1]
        law = xp.where(is_child, 0, law)
    return law
