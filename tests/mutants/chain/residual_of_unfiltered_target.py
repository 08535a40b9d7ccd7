"""Tests against the target, residual of p before a filter cut its tail: theory/verification.md 11, error 8."""

from specsim.base.arrays import accept_probability, array_namespace, residual
from specsim.verify.chain.tokenwise import *

KILLED_BY = "strongly_lossless"


def transition(plan, drafts):
    p, q = plan
    xp, gamma = array_namespace(p), q.shape[-2]
    before = (p + 1 / (p.shape[-1] + 0 * p)) / 2
    kept = accept_probability(p[..., :gamma, :], q, drafts)[..., None]
    reached, rows = xp.ones_like(p[..., 0, :1]), []
    for i in range(gamma):
        rows.append(reached * (1 - kept[..., i, :]) * residual(before[..., i, :], q[..., i, :]))
        reached = reached * kept[..., i, :]
    return xp.stack([*rows, reached * p[..., gamma, :]], axis=-2)
