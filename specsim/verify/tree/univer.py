"""UniVer: mass goes down the tree by optimal transport conditional on the prefix, decisions are made from below.

Law.         Node x has a weight a, 1 at the root. What its m children may have of a p is planned by
             the optimal rule for m independent drafts and the target (a p, 1 - a), whose winner has
             the law w: child y has pi(y), the probability that y wins and is kept. Children are
             tried in the order drawn, y with weight pi(y)/(1 - pi of the children before it). If no
             node below is kept, x itself is, with probability (a - beta)/(1 - beta), beta = sum
             min(a p, w) being what its children have on average; the next token is drawn from
             (a p - w)+. A leaf is kept with probability a.
             "paths" are merged: m is the number of paths through x.
Theorem.     T42: on trees of independent draws this is `lifted` with the optimal step, decision for
             decision; T23 then says that the joint law is the target's.
Acceptance.  A node that is tried is kept, or one below it, with probability a on average over what
             is drawn below it.
Randomness.  u[i] decides whether node i is kept if none below is; u[n] draws the token after it.
Cost.        The optimal rule's plan and transition, once for each level.
Paper.       Weng et al., UniVer, arXiv:2605.04543, as its abstract has it (transport conditional on
             the prefix, masses from the top, decisions from below), with the optimal plan of T08;
             its own pseudo-code was not read.
"""

from __future__ import annotations

from fractions import Fraction

from array_api_compat import device

from specsim.base.arrays import array_namespace, excess, is_exact, mass, wide
from specsim.types import Array, Draws, TokenTree
from specsim.verify.step import optimal
from specsim.verify.tree import traversal
from specsim.verify.tree._walk import Level, by_node, levels, of_level, post_order, to_children

CHILDREN = ("iid", "paths")
CHAIN = "block"
EXACT = True
THEOREM = "T42"
PAPER = "arXiv:2605.04543"
SAME_AS = "lifted"

Plan = traversal.Plan
# Once prepared, the rule is that of traversal verification.
transition, verify, uniforms = traversal.transition, traversal.verify, traversal.uniforms


def prepare(p: Array, q: Array, tree: TokenTree) -> Plan:
    """Plan of traversal verification, from weights that go from the root down, level by level."""
    xp, p = array_namespace(p, q), wide(p)
    shape, weight, chances, rests = levels(tree), 1 + 0 * p[..., 0, :1], [], []
    for level in shape:
        row, q_row = of_level(p, level), of_level(q, level)
        left, pi = _planned(weight[..., None], row, q_row, level)
        # Probability (a - beta)/(1 - beta) that a node is kept once its children have failed.
        beta = mass(weight[..., None] * row - left)
        all_fail = 1 - beta
        chance = xp.where(all_fail > 0, (weight - beta) / xp.where(all_fail > 0, all_fail, 1), 1 + 0 * weight)
        chances.append(chance[..., None])
        rests.append(left)
        # Weights of the children, at most 1, and 0 at 0/0:
        # pi(y)/(1 - pi of the children before it).
        if level.below:
            pi = xp.where(level.first, pi, 0)
            before = 1 - (xp.cumulative_sum(pi, axis=-1) - pi)
            is_less = pi < before
            ratio = pi / xp.where(is_less, before, 1)
            weight = to_children(level, xp.where(is_less, ratio, xp.where(pi > 0, 1, 0 * pi)))
    return Plan(by_node(shape, chances)[..., 0], by_node(shape, rests), p, shape, post_order(tree))


def _planned(weight: Array, p: Array, q: Array, level: Level) -> tuple[Array, Array]:
    """Remaining p (..., W, V) at every node, and pi (..., W, M) of its children."""
    xp, count = array_namespace(p), level.count[..., None]
    target = xp.concat([weight * p, 1 - weight], axis=-1)
    # Integers among Fractions would divide to floats.
    if is_exact(target):
        target = target * Fraction(1)
    # Rows of q after leaves may hold anything.
    q = xp.where(count > 0, q, p)
    longer = xp.concat([q, xp.zeros_like(q[..., :1])], axis=-1)
    most, left = level.tokens.shape[-1], target[..., :-1]
    pi = xp.astype(xp.where(level.first, 0 * target[..., :1], 0), target.dtype)
    # The optimal rule's plan for m drafts, -1 standing for those that are missing.
    if most:
        drafts = xp.where(xp.arange(most, device=device(count)) < count, level.tokens, -1)
        number = 1 if most == 1 else xp.where(level.count > 0, level.count, 1)
        plan = optimal.prepare(target, longer, Draws(number, 0, most))
        law = optimal.transition(plan, drafts)
        left = xp.where(count > 0, excess(target, optimal.winners(plan))[..., :-1], left)
        pi = xp.where(count > 0, xp.take_along_axis(law, level.tokens, axis=-1), pi)
    return left, pi
