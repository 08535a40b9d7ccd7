"""Counts a draft that fails as missed, although the target may draw the same token."""

from array_api_compat import array_namespace

from specsim.verify.step.typical import *

KILLED_BY = "laws_in_floats"


def acceptance(plan):
    xp = array_namespace(plan.p)
    return xp.sum(xp.where(plan.typical, plan.q, 0 * plan.q), axis=-1)
