"""The winner is kept with probability min(1, p/q), as a plain draft would be: but winners have the law w, not q."""

from array_api_compat import array_namespace

from specsim.base.arrays import accepts, at, pick, residual
from specsim.verify.step import optimal
from specsim.verify.step.optimal import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    xp, count = array_namespace(drafts), drafts.shape[-1]
    label = optimal._label(plan, drafts, u[..., :count], u[..., count : 2 * count])
    token = at(drafts, xp.argmax(label, axis=-1))
    kept = accepts(plan.p, plan.q, token, u[..., -2])
    return xp.where(kept, token, pick(residual(plan.p, plan.q), u[..., -1]))
