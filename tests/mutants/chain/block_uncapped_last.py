"""Block verification whose last test is the uncapped min(1, R_gamma): theory/verification.md 11, error 2 (HSD)."""

from specsim.verify.chain.block import *
from specsim.verify.chain.block import Step, _steps, array_namespace, at, normalize_or, pick

KILLED_BY = "frequencies"


def verify(plan, drafts, u):
    p, q = plan
    gamma = q.shape[-2]
    xp = array_namespace(p)
    ratio = xp.cumulative_prod(at(p[..., :gamma, :], drafts) / at(q, drafts), axis=-1)
    steps = _steps(plan, drafts)
    steps[-1] = Step(steps[-1].weight, steps[-1].row, ratio[..., -1:])
    kept, row = 0 * drafts[..., :1], normalize_or(steps[0].row, p[..., 0, :])
    for i, (weight, left, mass) in enumerate(steps):
        if i:
            scale = mass + (1 - weight) if i < gamma else 1
            passes = u[..., i - 1 : i] * scale < mass
            kept, row = xp.where(passes, i, kept), xp.where(passes, normalize_or(left, p[..., i, :]), row)
    return kept[..., 0], pick(row, u[..., gamma])
