"""Says that only the tokens that are kept are biased: the others lose what those gain."""

from array_api_compat import array_namespace

from specsim.verify.step.typical import *

KILLED_BY = "laws_in_floats"


def bias(plan):
    xp = array_namespace(plan.p)
    kept = xp.where(plan.typical, plan.q, 0 * plan.q)
    off = abs(kept - xp.sum(kept, axis=-1, keepdims=True) * plan.p)
    return xp.sum(xp.where(plan.typical, off, 0 * off), axis=-1) / 2
