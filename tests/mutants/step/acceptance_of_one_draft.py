"""Reports the acceptance of one draft whatever K is."""

from specsim.base.arrays import overlap
from specsim.verify.step.recursive import *

KILLED_BY = "acceptance_is_exact"


def acceptance(plan):
    return overlap(plan.left_over[0], plan.q)
