"""A node that a row lacks is taken for a draft of token 0."""

from specsim.verify.tree import tokenwise
from specsim.verify.tree.tokenwise import *

KILLED_BY = "strongly_lossless"


def prepare(p, q, tree):
    plan = tokenwise.prepare(p, q, tree)
    full = [level._replace(count=0 * level.count + level.tokens.shape[-1]) for level in plan.levels]
    return plan._replace(levels=full)
