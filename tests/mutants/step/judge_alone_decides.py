"""A judge, but what does not pass is never kept: stricter than the standard test where it says nothing."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick, residual
from specsim.verify.step.judge import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    x = drafts[..., 0]
    return array_namespace(x).where(at(plan.judged, x), x, pick(residual(plan.p, plan.q), u[..., 1]))
