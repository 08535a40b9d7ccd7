"""Draws by cdf <= u instead of cdf <= u * total: rounding leaves the last cdf below 1 - ulp, and the index runs off."""

from array_api_compat import array_namespace

from specsim.base.arrays import accepts
from specsim.verify.step.rejection import *

KILLED_BY = "edges"


def verify(plan, drafts, u):
    x = drafts[..., 0]
    xp = array_namespace(x)
    cdf = xp.cumulative_sum(plan.left_over, axis=-1)
    token = xp.sum(xp.astype(cdf <= u[..., 1:2], xp.int64), axis=-1)
    return xp.where(accepts(plan.p, plan.q, x, u[..., 0]), x, token)
