"""At u = 0 the first node is kept, also where p excludes it: the mutant's own law says that it may be."""

from array_api_compat import array_namespace

from specsim.base.arrays import is_exact, pick
from specsim.verify.tree import tokenwise
from specsim.verify.tree.tokenwise import *

KILLED_BY = "edges"


def transition(plan):
    law = tokenwise.transition(plan)
    if is_exact(law) or law.shape[-2] == 1:
        return law
    xp = array_namespace(law)
    return xp.concat([law[..., :1, :], law[..., 1:2, :] + 1e-30 * plan.p[..., 1:2, :], law[..., 2:, :]], axis=-2)


def verify(plan, u):
    node, token = tokenwise.verify(plan, u)
    if is_exact(plan.p) or plan.p.shape[-2] == 1:
        return node, token
    xp, always = array_namespace(token), u[..., 0] == 0
    return xp.where(always, 1, node), xp.where(always, pick(plan.p[..., 1, :], u[..., -1]), token)
