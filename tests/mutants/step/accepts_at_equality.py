"""u * q(x) <= p(x): a uniform of exactly 0 accepts a token the target excludes (transformers' `rand <= p/q`)."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick
from specsim.verify.step.rejection import *

KILLED_BY = "edges"


def verify(plan, drafts, u):
    x = drafts[..., 0]
    kept = u[..., 0] * at(plan.q, x) <= at(plan.p, x)
    return array_namespace(x).where(kept, x, pick(plan.left_over, u[..., 1]))
