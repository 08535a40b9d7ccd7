"""Greedy block verification: keeps as many drafts as full information would, at the price of a changed continuation.

Law.         Joint ratios R_i = prod_{j<=i} p_j/q_j(x_j), S_i = sum_v (R_i p_{i+1}(v) - q_{i+1}(v))+. Draft i passes
             with probability min(1, S_i/(S_i + 1 - R_i)) (1 where both are 0), the last one with min(1, R_gamma), each
             on its own; all up to the last that passes are kept, n of them. If n = gamma the next token comes from p.
             Else it and the gamma - n - 1 tokens after it come from (R p - q)+ normalised, R the joint ratio of the
             text since the block began: `continuation`. Drawn from p instead, they would make the rule lossy.
Theorem.     T18: block and continuation together have the target's joint law on gamma+1 tokens.
Acceptance.  E[n] = sum_i 1 - TV(P_i, Q_i) over the laws of the first i tokens: the most that any verifier could keep.
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma V); the continuation needs the draft's law at every token it lasts.
Paper.       Sun et al., arXiv:2403.10444, greedy block verification; Zhou et al., arXiv:2601.05724, "naive HSD".
"""

from __future__ import annotations

from typing import NamedTuple

from array_api_compat import array_namespace

from specsim.base.arrays import at, positive_part, product, wide
from specsim.types import Array
from specsim.verify.chain import block

EXACT = True
THEOREM = "T18"
PAPER = "arXiv:2403.10444"

Plan = block.Plan
prepare, uniforms = block.prepare, block.uniforms  # the same rows; a test per draft, and one draw


class Step(NamedTuple):
    """A block.Step with R_i = above/below, columns (..., 1) of which the larger is 1."""

    row: Array  # (above p - below q)+, unnormalised; p after the last draft
    more: Array  # its sum, and
    less: Array  # the sum of (below q - above p)+; above and below after the last draft
    above: Array
    below: Array


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (drafts kept, next token) given drafts (..., gamma)."""
    return block.joint_law(plan.p, _steps(plan, drafts))


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(kept (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    return block.last_success(plan.p, _steps(plan, drafts), u)


def advance(weight: Array, ratio: Array) -> Array:
    """R_i from R_{i-1} and p_i/q_i(x_i): drafts x_1..x_i are kept with probability Q(x_1..x_i) min(1, R_i)."""
    return product(weight, ratio)


def continuation(plan: Plan, drafts: Array, kept: Array, token: Array) -> tuple[Array, Array]:
    """(above, below), columns (..., 1): the next token is drawn from (above p - below q)+ normalised.

    For gamma - kept - 1 tokens; both are multiplied by the token's p and q as each is drawn. (1, 0) means p itself.
    """
    steps = _steps(plan, drafts)
    xp, gamma = array_namespace(plan.p), len(steps) - 1
    above, below = xp.ones_like(steps[0].above), xp.zeros_like(steps[0].below)
    for i, step in enumerate(steps[:gamma]):
        here = (kept == i)[..., None]
        above = xp.where(here, step.above * wide(at(plan.p[..., i, :], token))[..., None], above)
        below = xp.where(here, step.below * wide(at(plan.q[..., i, :], token))[..., None], below)
    return above, below


def _steps(plan: Plan, drafts: Array) -> list[Step]:
    """What the block looks like from each of its gamma+1 positions."""
    p, q = plan
    xp, gamma = array_namespace(p, q), q.shape[-2]
    p_drawn, q_drawn = (wide(at(w, drafts)) for w in (p[..., :gamma, :], q))
    above, below, steps = wide(0 * p[..., 0, :1] + 1), wide(0 * p[..., 0, :1] + 1), []
    for i in range(gamma):
        over = xp.astype(above, p.dtype) * p[..., i, :] - xp.astype(below, q.dtype) * q[..., i, :]
        more, less = (xp.sum(wide(positive_part(w)), axis=-1, keepdims=True) for w in (over, -over))
        steps.append(Step(positive_part(over), more, less, above, below))
        above, below = above * p_drawn[..., i : i + 1], below * q_drawn[..., i : i + 1]
        larger = xp.where(above > below, above, below)
        # Both are 0 where p is and q underflows: the ratio is 0, and must not be read as 0/0, which always passes.
        below = xp.where(larger > 0, below, 1 + 0 * below)
        larger = xp.where(larger > 0, larger, 1)
        above, below = above / larger, below / larger
    return [*steps, Step(p[..., gamma, :], above, below, above, below)]
