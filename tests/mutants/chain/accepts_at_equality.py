"""Tests u * q <= p along the chain."""

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick, residual
from specsim.verify.chain.tokenwise import *

KILLED_BY = "edges"


def verify(plan, drafts, u):
    p, q = plan
    xp = array_namespace(p, q)
    gamma = q.shape[-2]
    failed = ~(u[..., :gamma] * at(q, drafts) <= at(p[..., :gamma, :], drafts))
    kept = xp.sum(xp.astype(xp.cumulative_sum(xp.astype(failed, xp.int64), axis=-1) == 0, xp.int64), axis=-1)
    q = xp.concat([q, xp.zeros_like(p[..., gamma:, :])], axis=-2)
    row = kept[..., None, None]
    rows = (xp.take_along_axis(w, row, axis=-2)[..., 0, :] for w in (p, q))
    return kept, pick(residual(*rows), u[..., gamma])
