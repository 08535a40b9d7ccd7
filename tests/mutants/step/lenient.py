"""Accepts with probability min(1, 2 p/q) and says nothing of its bias: more than any lossless rule can accept."""

from specsim.base.arrays import overlap
from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "acceptance_below_optimum"


def prepare(p, q, num_drafts):
    return rejection.Plan(2 * p, q, rejection.residual(p, q))


def acceptance(plan):
    return overlap(plan.p, plan.q)
