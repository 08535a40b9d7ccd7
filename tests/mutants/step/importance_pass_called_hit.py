"""Reports the probability that the winner is kept, though a recovered token may be a draft that lost."""

from specsim.base.arrays import overlap
from specsim.verify.step import importance
from specsim.verify.step.importance import *

KILLED_BY = "acceptance_is_exact"


def prepare(p, q, num_drafts):
    return importance.prepare(p, q, num_drafts, live=1)


def acceptance(plan):
    return overlap(plan.p, plan.winners)
