"""Draws the token from q instead of p."""

from specsim.base.arrays import pick
from specsim.verify.step.naive import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    return pick(plan.q, u[..., 0]) + 0 * drafts[..., 0]
