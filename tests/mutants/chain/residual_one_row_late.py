"""The residual is taken from the row after the rejected draft: an off-by-one in the gather."""

from array_api_compat import array_namespace

from specsim.base.arrays import accept_probability, residual
from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "strongly_lossless"


def transition(plan, drafts):
    p, q = plan
    xp = array_namespace(p, q)
    gamma = q.shape[-2]
    kept = accept_probability(p[..., :gamma, :], q, drafts)[..., None]
    reached, rows = xp.ones_like(p[..., 0, :1]), []
    for i in range(gamma):
        late = min(i + 1, gamma - 1)
        rows.append(reached * (1 - kept[..., i, :]) * residual(p[..., late, :], q[..., late, :]))
        reached = reached * kept[..., i, :]
    return xp.stack([*rows, reached * p[..., gamma, :]], axis=-2)


__all__ = ["tokenwise"]
