"""Lenience, but what replaces a draft is drawn from the target, as if nothing had been kept."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick
from specsim.verify.step.lenience import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    x = drafts[..., 0]
    accepted = u[..., 0] * at(plan.q, x) < at(plan.accepted, x)
    return array_namespace(x).where(accepted, x, pick(plan.p, u[..., 1]))
