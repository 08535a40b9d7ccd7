"""Acceptance thresholds that replace a refused draft by a draw from the whole target, the draft included."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick
from specsim.verify.step.accept_threshold import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    x = drafts[..., 0]
    return array_namespace(x).where(u[..., 0] < at(plan.accepted, x), x, pick(plan.p, u[..., 1]))
