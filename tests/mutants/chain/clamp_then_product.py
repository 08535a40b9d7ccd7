"""Clamped ratios' products against products of uniforms (vllm-ascend#7807, #9772): section 11, error 1."""

from array_api_compat import array_namespace

from specsim.base.arrays import accept_probability, pick, residual
from specsim.verify.chain.tokenwise import *

KILLED_BY = "frequencies"


def verify(plan, drafts, u):
    p, q = plan
    xp = array_namespace(p, q)
    gamma = q.shape[-2]
    ratio = xp.cumulative_prod(accept_probability(p[..., :gamma, :], q, drafts), axis=-1)
    passes = xp.cumulative_prod(u[..., :gamma], axis=-1) < ratio
    kept = xp.max(xp.where(passes, xp.arange(1, gamma + 1), 0), axis=-1)  # the last success
    q = xp.concat([q, xp.zeros_like(p[..., gamma:, :])], axis=-2)
    row = kept[..., None, None]
    rows = (xp.take_along_axis(w, row, axis=-2)[..., 0, :] for w in (p, q))
    return kept, pick(residual(*rows), u[..., gamma])
