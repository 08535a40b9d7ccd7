"""A judge, but its bias is said to be all that the draft has above the target, also where nothing passes."""

from array_api_compat import array_namespace

from specsim.base.arrays import excess
from specsim.verify.step.judge import *

KILLED_BY = "output_is_target"


def bias(plan):
    return array_namespace(plan.q).sum(excess(plan.q, plan.p), axis=-1)
