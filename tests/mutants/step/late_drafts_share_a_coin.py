"""From the third draft on, drafts share the second one's coin: harmless on coarse grids."""

from specsim.base.arrays import accepts, pick
from specsim.verify.step.recursive import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    num_drafts = len(plan.left_over) - 1
    token = pick(plan.left_over[-1], u[..., num_drafts])
    for k in reversed(range(num_drafts)):
        kept = accepts(plan.left_over[k], plan.q, drafts[..., k], u[..., min(k, 1)])
        token = array_namespace(token).where(kept, drafts[..., k], token)
    return token
