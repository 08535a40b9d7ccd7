"""A cascade of tokens that replaces refused drafts by the residual of the target, not of the law that is sampled."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick, residual
from specsim.verify.step import cascade
from specsim.verify.step.cascade import *

KILLED_BY = "sampler_is_transition"


def prepare(p, q, num_drafts=1):
    return cascade.prepare(p, q, num_drafts, "token_v3")


def verify(plan, drafts, u):
    x = drafts[..., 0]
    accepted = u[..., 0] * at(plan.q, x) < at(plan.pi, x)
    return array_namespace(x).where(accepted, x, pick(residual(plan.p, plan.q), u[..., 1]))
