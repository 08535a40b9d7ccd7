"""Residual rows left unnormalised in the joint law."""

from array_api_compat import array_namespace

from specsim.base.arrays import accept_probability, positive_part
from specsim.verify.chain.tokenwise import *

KILLED_BY = "transition_is_a_law"


def transition(plan, drafts):
    p, q = plan
    gamma = q.shape[-2]
    kept = accept_probability(p[..., :gamma, :], q, drafts)[..., None]
    rows, reached = [], 1
    for i in range(gamma):
        rows.append(reached * (1 - kept[..., i, :]) * positive_part(p[..., i, :] - q[..., i, :]))
        reached = reached * kept[..., i, :]
    return array_namespace(p).stack([*rows, reached * p[..., gamma, :]], axis=-2)
