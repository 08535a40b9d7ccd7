"""Block verification that stops at the first failed test: theory/verification.md 11, error 3."""

from specsim.verify.chain.block import *
from specsim.verify.chain.block import _steps, array_namespace, normalize_or, pick

KILLED_BY = "frequencies"


def verify(plan, drafts, u):
    xp, gamma, steps = array_namespace(plan.p), plan.q.shape[-2], _steps(plan, drafts)
    rows = normalize_or(steps.rows, plan.p)
    kept, row, going = 0 * drafts[..., :1], rows[..., 0, :], True
    for i in range(1, gamma + 1):
        more, less = steps.more[..., i : i + 1], steps.less[..., i : i + 1]
        going = going & ((more >= less) | (u[..., i - 1 : i] * less < more))
        kept, row = xp.where(going, i, kept), xp.where(going, rows[..., i, :], row)
    return kept[..., 0], pick(row, u[..., gamma])
