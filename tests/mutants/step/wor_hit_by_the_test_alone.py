"""The replacement is never counted as a hit, although it is the other draft where weights are off by rounding."""

from specsim.base.arrays import overlap
from specsim.verify.step import optimal_wor
from specsim.verify.step.optimal_wor import *

KILLED_BY = "acceptance_is_exact"


def prepare(p, q, num_drafts):
    return optimal_wor.prepare(p, q, num_drafts, few=1)


def transition(plan, drafts):
    return optimal_wor.transition(plan, drafts)


def acceptance(plan):
    return overlap(plan.p, plan.winners)
