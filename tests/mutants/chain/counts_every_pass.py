"""Keeps as many drafts as pass, not the prefix before the first failure."""

from array_api_compat import array_namespace

from specsim.base.arrays import accept_probability, residual
from specsim.verify.chain.tokenwise import *

KILLED_BY = "strongly_lossless"


def transition(plan, drafts):
    p, q = plan
    xp = array_namespace(p, q)
    gamma = q.shape[-2]
    kept = accept_probability(p[..., :gamma, :], q, drafts)
    law = [0] * (gamma + 1)
    for passes in range(2**gamma):
        chance, count = 1, 0
        for i in range(gamma):
            one = passes >> i & 1
            chance, count = chance * (kept[..., i] if one else 1 - kept[..., i]), count + one
        law[count] = law[count] + chance
    rows = [residual(p[..., i, :], q[..., i, :]) * law[i] for i in range(gamma)] + [p[..., gamma, :] * law[gamma]]
    return xp.stack(rows, axis=-2)
