"""A judge, but its sampler asks about the token after the draft: the head read one place off."""

from array_api_compat import array_namespace

from specsim.base.arrays import accepts, at, pick, residual
from specsim.verify.step.judge import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    x = drafts[..., 0]
    kept = at(plan.judged, (x + 1) % plan.q.shape[-1]) | accepts(plan.p, plan.q, x, u[..., 0])
    return array_namespace(x).where(kept, x, pick(residual(plan.p, plan.q), u[..., 1]))
