"""Hierarchical verification as it was released: capped below every draft but the last, which is tested uncapped.

Law.         As `capped`, but all gamma drafts are kept with probability min(1, R_gamma), R the
             plain joint ratio, where the paper has min(1, R_gamma / max(1, R_1, ..., R_{gamma-1})).
             Excess and residuals are those of the paper.
Theorem.     T36, part 3: lossless for gamma = 1; for gamma = 2 it changes the target as soon as
             R_1 > 1 and R_2 < R_1 on some path of drafts.
Acceptance.  E[n] is above that of `block` by the mass of what is wrongly kept.
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma V).
Paper.       arXiv:2601.05724: what the code beside it does with the last draft, not what the paper
             says.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace
from specsim.types import Array
from specsim.verify.chain import block, capped

EXACT = True
THEOREM = "T36"
PAPER = "arXiv:2601.05724"

Plan = block.Plan
prepare, uniforms = block.prepare, block.uniforms


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    return block.joint_law(plan.p, _steps(plan, drafts))


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    return block.last_success(plan.p, _steps(plan, drafts), u)


def _steps(plan: Plan, drafts: Array) -> block.Steps:
    """Steps of `capped`, with the test of the last draft against the plain joint ratio."""
    steps, gamma = capped.branches(plan, drafts), plan.q.shape[-2]
    last = capped.joint_ratios(plan, drafts)[..., gamma:]
    xp = array_namespace(last)
    return steps._replace(more=xp.concat([steps.more[..., :gamma], xp.where(last < 1, last, 1)], axis=-1))
