"""Products of clamped ratios against products of uniforms, with block residuals: theory/verification.md 11, error 1."""

from specsim.base.arrays import accept_probability
from specsim.verify.chain.block import *
from specsim.verify.chain.block import _steps, array_namespace, normalize_or, pick

KILLED_BY = "frequencies"


def verify(plan, drafts, u):
    p, q = plan
    xp, gamma = array_namespace(p), q.shape[-2]
    clamped = xp.cumulative_prod(accept_probability(p[..., :gamma, :], q, drafts), axis=-1)
    passes, rows = xp.cumulative_prod(u[..., :gamma], axis=-1) < clamped, normalize_or(_steps(plan, drafts).rows, p)
    kept, row = 0 * drafts[..., :1], rows[..., 0, :]
    for i in range(1, gamma + 1):
        passed = passes[..., i - 1 : i]
        kept, row = xp.where(passed, i, kept), xp.where(passed, rows[..., i, :], row)
    return kept[..., 0], pick(row, u[..., gamma])
