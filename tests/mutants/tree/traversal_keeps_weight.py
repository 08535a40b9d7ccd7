"""Traversal that leaves a node's weight as it was when a child of it fails."""

from specsim.verify.tree import traversal
from specsim.verify.tree.traversal import *

KILLED_BY = "strongly_lossless"


def prepare(p, q, tree):
    plan = traversal.prepare(p, q, tree)
    xp, weight, entry = array_namespace(p), 0 * p[..., :1, 0] + 1, []
    for level in plan.levels:
        entry.append(weight[..., None])
        if level.below:
            held = [at(w[..., level.rows, :], level.tokens[..., 0]) for w in (p, q)]
            ratio = weight * held[0] / xp.where(held[1] > 0, held[1], 1)
            handed = xp.where((ratio < 1) & (held[1] > 0), ratio, 1)[..., None] + 0 * level.tokens
            weight = to_children(level, handed)
    return plan._replace(chance=by_node(plan.levels, entry)[..., 0])
