"""A token that is not in the tree is thrown away: p is asked again, given that the next token is a child."""

import numpy as np

from specsim.verify.tree.target_only import *
from specsim.verify.tree.target_only import walk_law

KILLED_BY = "strongly_lossless"


def transition(plan):
    rows = []
    for level in plan.levels:
        p = plan.p[..., level.rows, :]
        child = (np.arange(p.shape[-1]) == level.tokens[..., None]) & level.first[..., None]
        held = np.where(child.any(axis=-2), p, 0)
        total = held.sum(axis=-1, keepdims=True)
        rows.append(np.where(total > 0, held / np.where(total > 0, total, 1), p))
    return walk_law(plan.levels, rows)
