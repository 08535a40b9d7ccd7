"""Block verification whose last test is the uncapped min(1, R_gamma): theory/verification.md 11, error 2 (HSD)."""

from specsim.verify.chain.block import *
from specsim.verify.chain.block import _steps, array_namespace, at

KILLED_BY = "frequencies"


def verify(plan, drafts, u):
    p, q = plan
    gamma = q.shape[-2]
    xp = array_namespace(p)
    ratio = xp.cumulative_prod(at(p[..., :gamma, :], drafts) / at(q, drafts), axis=-1)
    steps = _steps(plan, drafts)
    more = xp.concat([steps.more[..., :gamma], ratio[..., -1:]], axis=-1)
    return last_success(p, steps._replace(more=more), u)
