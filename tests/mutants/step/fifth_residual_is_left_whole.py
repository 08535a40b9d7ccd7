"""Of five drafts the residual is not taken once more after the last."""

from specsim.verify.step import recursive
from specsim.verify.step.recursive import *

KILLED_BY = "output_is_target"
DRAFTS_FROM = 5


def prepare(p, q, num_drafts):
    plan = recursive.prepare(p, q, num_drafts)
    if num_drafts < DRAFTS_FROM:
        return plan
    return plan._replace(left_over=(*plan.left_over[:-1], plan.left_over[-2]))
