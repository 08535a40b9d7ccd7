"""Draws from the draft where the draft fails: a law that no closed form of the rule states."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick
from specsim.verify.step.typical import *

KILLED_BY = "frequencies"


def verify(plan, drafts, u):
    x = drafts[..., 0]
    return array_namespace(x).where(at(plan.typical, x), x, pick(plan.q, u[..., 0]))
