"""Traversal verification whose nodes share one coin from the third level on."""

from specsim.verify.tree import traversal
from specsim.verify.tree.traversal import *

KILLED_BY = "sampler_is_transition"


def verify(plan, u):
    u = u.copy()
    for level in plan.levels[3:]:
        u[..., level.rows - 1] = u[..., level.rows[:1] - 1]
    return traversal.verify(plan, u)
