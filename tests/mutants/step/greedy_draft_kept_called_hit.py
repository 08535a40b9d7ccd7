"""Reports the probability that the last draft is kept, though a recovered token may be one of the others."""

from specsim.base.arrays import overlap
from specsim.verify.step.greedy_draft import *

KILLED_BY = "acceptance_is_exact"


def acceptance(plan):
    return overlap(plan.last.p, plan.last.q)
