"""Relaxed acceptance that states its distance from greedy decoding as the distance from the target."""

from specsim.base.arrays import at
from specsim.verify.step.relaxed import *

KILLED_BY = "output_is_target"


def bias(plan):
    return acceptance(plan) - at(plan.q, plan.top)
