"""At u = 0 the first draft is kept, also where p excludes it: the mutant's own law says that it may be."""

from array_api_compat import array_namespace

from specsim.base.arrays import is_exact, pick
from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "edges"


def transition(plan, drafts):
    law = tokenwise.transition(plan, drafts)
    if is_exact(law) or law.shape[-2] == 1:
        return law
    xp = array_namespace(law)
    return xp.concat([law[..., :1, :], law[..., 1:2, :] + 1e-30 * plan.p[..., 1:2, :], law[..., 2:, :]], axis=-2)


def verify(plan, drafts, u):
    kept, token = tokenwise.verify(plan, drafts, u)
    if is_exact(plan.p) or plan.p.shape[-2] == 1:
        return kept, token
    xp, always = array_namespace(token), u[..., 0] == 0
    return xp.where(always, 1, kept), xp.where(always, pick(plan.p[..., 1, :], u[..., -1]), token)
