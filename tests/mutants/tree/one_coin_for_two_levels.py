"""Every level of the walk reads the first uniforms again."""

from specsim.verify.tree import tokenwise
from specsim.verify.tree.tokenwise import *

KILLED_BY = "sampler_is_transition"


def uniforms(tree, step=None):
    return max(tokenwise._needs(tokenwise._step_rule(tree, step), m) for m in (*tokenwise.most_children(tree), 1))


def verify(plan, u):
    width = u.shape[-1]
    needs = [tokenwise._needs(plan.step, level.tokens.shape[-1]) for level in plan.levels]
    return tokenwise.verify(plan, u[..., [k % width for n in needs for k in range(n)]])
