"""Greedy block verification: keeps as many drafts as full information would, at the price of a changed continuation.

Law.         Joint ratios R_i = prod_{j<=i} p_j/q_j(x_j), S_i = sum_v (R_i
             p_{i+1}(v) - q_{i+1}(v))+. Draft i passes with probability min(1, S_i/(S_i + 1 - R_i))
             (1 where both are 0), the last one with min(1, R_gamma), each on its own; all up to the
             last that passes are kept, n of them. If n = gamma the next token comes from p. Else it
             and the gamma - n - 1 tokens after it come from (R p - q)+ normalised, R the joint
             ratio of the text since the block began: `continuation`. Drawn from p instead, they
             would make the rule lossy.
Theorem.     T18: block and continuation together have the target's joint law on gamma+1 tokens.
Acceptance.  E[n] = sum_i 1 - TV(P_i, Q_i) over the laws of the first i tokens: the most that any
             verifier could keep.
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma V); the continuation needs the draft's law at every token it lasts.
Paper.       Sun et al., arXiv:2403.10444, greedy block verification; Zhou et al., arXiv:2601.05724,
             "naive HSD".
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.base.arrays import array_namespace, at, mass, positive_part, product, wide
from specsim.types import Array
from specsim.verify.chain import block

EXACT = True
THEOREM = "T18"
PROVED = {"lossless": "greedy_lossless", "acceptance": "greedy_length"}
PAPER = "arXiv:2403.10444"

Plan = block.Plan
# One test per draft, one draw.
uniforms = block.uniforms


class Steps(NamedTuple):
    """`block.Steps` with R_i = above/below (..., gamma+1), of which the larger is 1."""

    rows: Array  # (..., gamma+1, V): (above p - below q)+, unnormalised; p after the last draft
    # Draft i passes with probability min(1, more/less), 1 at 0/0.
    more: Array  # (..., gamma+1): sum of (above p - below q)+; `above` after the last draft
    less: Array  # (..., gamma+1): sum of (below q - above p)+; `below` after the last draft
    above: Array
    below: Array


def prepare(p: Array, q: Array) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens."""
    return Plan(p, q)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    return block.joint_law(plan.p, _steps(plan, drafts))


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    return block.last_success(plan.p, _steps(plan, drafts), u)


def advance(weight: Array, ratio: Array) -> Array:
    """R_i from R_{i-1}, p_i/q_i(x_i): x_1..x_i are accepted with chance Q(x_1..x_i) min(1, R_i)."""
    return product(weight, ratio)


def scales(p_drawn: Array, q_drawn: Array) -> tuple[Array, Array]:
    """Factors (above, below) (..., gamma+1) of the rows (above p - below q)+; p, q are at the drafts."""
    return _joint(p_drawn, q_drawn, 0 * p_drawn[..., 0] + 1)


def continuation(plan: Plan, drafts: Array, kept: Array, token: Array) -> tuple[Array, Array]:
    """Factors (..., 1) of the law (above p - below q)+, normalised, that the next token is drawn from.

    For gamma - kept - 1 tokens; both are multiplied by the token's p and q as each is drawn. (1, 0)
    means p itself.
    """
    steps = _steps(plan, drafts)
    xp, gamma = array_namespace(plan.p), plan.q.shape[-2]
    above, below = xp.ones_like(steps.above[..., :1]), xp.zeros_like(steps.above[..., :1])
    for i in range(gamma):
        is_end = (kept == i)[..., None]
        p_token, q_token = (wide(at(w[..., i, :], token)) for w in plan)
        above = xp.where(is_end, steps.above[..., i : i + 1] * p_token[..., None], above)
        below = xp.where(is_end, steps.below[..., i : i + 1] * q_token[..., None], below)
    return above, below


def _steps(plan: Plan, drafts: Array) -> Steps:
    """Return the steps of the block at its gamma+1 positions, given drafts (..., gamma)."""
    p, q = plan
    xp, gamma = array_namespace(p, q), q.shape[-2]
    # R_i = above/below after each draft, R_0 = 1.
    p_drawn, q_drawn = (wide(at(w, drafts)) for w in (p[..., :gamma, :], q))
    above, below = _joint(p_drawn, q_drawn, wide(xp.ones_like(p[..., 0, 0])))
    # above p - below q at each position, whose positive and negative parts decide the test:
    # S_i/(S_i + 1 - R_i) is their ratio `more/less`, as p and q sum to 1.
    difference = xp.astype(above[..., :gamma, None], p.dtype) * p[..., :gamma, :]
    difference = difference - xp.astype(below[..., :gamma, None], q.dtype) * q
    more, less = mass(positive_part(difference)), mass(positive_part(-difference))
    # The last draft passes with probability min(1, R_gamma); the token after it comes from p.
    more = xp.concat([more, above[..., gamma:]], axis=-1)
    less = xp.concat([less, below[..., gamma:]], axis=-1)
    rows = xp.concat([positive_part(difference), p[..., gamma:, :]], axis=-2)
    return Steps(rows, more, less, above, below)


def _joint(p_drawn: Array, q_drawn: Array, start: Array) -> tuple[Array, Array]:
    """Return numerators and denominators (..., gamma+1) of R_0, ..., R_gamma; the larger of each is 1."""
    xp, above, below = array_namespace(start), start, start
    numerators, denominators = [above], [below]
    for i in range(p_drawn.shape[-1]):
        above, below = above * p_drawn[..., i], below * q_drawn[..., i]
        larger = xp.where(above > below, above, below)
        # Both are 0 where p is and q underflows: the ratio is 0, and
        # must not be read as 0/0, which always passes.
        below = xp.where(larger > 0, below, 1 + 0 * below)
        larger = xp.where(larger > 0, larger, 1)
        above, below = above / larger, below / larger
        numerators.append(above)
        denominators.append(below)
    return xp.stack(numerators, axis=-1), xp.stack(denominators, axis=-1)
