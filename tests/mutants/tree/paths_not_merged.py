"""K paths: the step rule gets K drafts at every text, of which those of other texts were never drawn there."""

from specsim.verify.tree import tokenwise
from specsim.verify.tree.tokenwise import *

CHILDREN = ("paths",)
KILLED_BY = "strongly_lossless"


def prepare(p, q, tree):
    plan = tokenwise.prepare(p, q, tree)
    first, second, *rest = plan.levels
    every = first.tokens.shape[-1]
    if second.below:
        tokens = second.tokens.copy()
        tokens[..., 1:] = tokens[..., :1]  # the first path's token stands in for the missing ones
        second = second._replace(tokens=tokens, count=0 * second.count + every)
    return plan._replace(levels=[first, second, *rest])
