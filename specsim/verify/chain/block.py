"""Block verification: tests that look at the whole block, of which the last success counts.

Law.         w_0 = 1, w_i = min(1, w_{i-1} p_i(x_i)/q_i(x_i)), S_i = sum_v (w_i p_{i+1}(v) - q_{i+1}(v))+. Draft i
             passes with probability S_i/(S_i + 1 - w_i), the last one with w_gamma, each on its own; all drafts up to
             the last that passes are kept, n of them. The next token is drawn from (w_n p_{n+1} - q_{n+1})+ normalised
             if n < gamma, from p_{gamma+1} if n = gamma.
Theorem.     T17: run one block and continue to gamma+1 tokens from the target: the joint law is the target's. No other
             rule that keeps a prefix and continues from the target keeps more drafts on average.
Acceptance.  E[n] = sum_i E_q[w_i]; given the text y that follows (continued by the target to gamma+1 tokens),
             P(n >= i | y) = min(1, min_{j<=i} prod_{l<=j} q_l/p_l(y_l)).
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma V): a sum over the vocabulary at every position.
Paper.       Sun et al., block verification, arXiv:2403.10444, algorithm 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from array_api_compat import array_namespace, device

from specsim.base.arrays import at, normalize_or, pick, positive_part, product, wide
from specsim.types import Array

EXACT = True
THEOREM = "T17"
PROVED = {"lossless": "block_lossless", "acceptance": "block_survival"}
PAPER = "arXiv:2403.10444"


class Plan(NamedTuple):
    p: Array  # (..., gamma+1, V)
    q: Array  # (..., gamma, V)


class Step(NamedTuple):
    """One position of the block: a row (..., V), and columns (..., 1)."""

    row: Array  # (w_i p - q)+, unnormalised; p after the last draft
    more: Array  # the draft before it passes with probability min(1, more/less), 1 at 0/0
    less: Array


def prepare(p: Array, q: Array) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens."""
    return Plan(p, q)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (drafts kept, next token) given drafts (..., gamma)."""
    return joint_law(plan.p, _steps(plan, drafts))


def advance(weight: Array, ratio: Array) -> Array:
    """w_i from w_{i-1} and p_i/q_i(x_i): drafts x_1..x_i are kept and emitted with probability Q(x_1..x_i) w_i."""
    xp = array_namespace(ratio)
    return xp.where(weight * ratio < 1, weight * ratio, 1)


def survival(ratio: Array) -> Array:
    """P(n >= i | emitted text), i = 1..gamma, from ratio (..., gamma) = q(y)/p(y) along the text."""
    xp = array_namespace(ratio)
    least, joint, out = xp.ones_like(ratio[..., :1]), xp.ones_like(ratio[..., :1]), []
    for i in range(ratio.shape[-1]):
        joint = product(joint, ratio[..., i : i + 1])
        least = xp.where(joint < least, joint, least)
        out.append(least)
    return xp.concat(out, axis=-1) if out else ratio


def uniforms(gamma: int) -> int:
    """One test per draft, one draw."""
    return gamma + 1


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(kept (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    return last_success(plan.p, _steps(plan, drafts), u)


def joint_law(p: Array, steps: Sequence[Any]) -> Array:
    """Joint law (..., gamma+1, V) of (kept, next token) when the last draft that passes is the last kept."""
    xp = array_namespace(p)
    law, last = [], xp.ones_like(steps[0].more)  # last: no later draft passes
    for i, step in reversed(list(enumerate(steps))):
        full = (step.more >= step.less) | (i == 0)
        passes = xp.where(full, 1, step.more / xp.where(full, 1, step.less))
        law.append(last * passes * normalize_or(step.row, p[..., i, :]))
        last = last * (1 - passes)
    return xp.stack(law[::-1], axis=-2)


def last_success(p: Array, steps: Sequence[Any], u: Array) -> tuple[Array, Array]:
    """(kept (...), next token (...)): u[i] tests draft i, the last one draws."""
    row, gamma = normalize_or(steps[0].row, p[..., 0, :]), len(steps) - 1
    xp = array_namespace(row)
    kept = xp.zeros((*row.shape[:-1], 1), dtype=xp.int64, device=device(row))
    for i, step in enumerate(steps[1:], start=1):
        passes = (step.more >= step.less) | (u[..., i - 1 : i] * step.less < step.more)
        kept = xp.where(passes, i, kept)
        row = xp.where(passes, normalize_or(step.row, p[..., i, :]), row)
    return kept[..., 0], pick(row, u[..., gamma])


def _steps(plan: Plan, drafts: Array) -> list[Step]:
    """What the block looks like from each of its gamma+1 positions.

    The products are formed in the wider type and never leave [0, 1]. One that underflows (below 1e-308; in JAX without
    64 bits 1e-38) stays 0, which costs every later draft at most that much: drafts from q do not raise a weight on
    average (T17). So no logarithms are needed, which Fractions do not have.
    """
    p, q = plan
    xp, gamma = array_namespace(p, q), q.shape[-2]
    p_drawn, q_drawn = (wide(at(w, drafts)) for w in (p[..., :gamma, :], q))
    weight, steps = wide(0 * p[..., 0, :1] + 1), []
    for i in range(gamma):
        row = positive_part(xp.astype(weight, p.dtype) * p[..., i, :] - q[..., i, :])
        mass = xp.sum(wide(row), axis=-1, keepdims=True)
        steps.append(Step(row, mass, mass + (1 - weight)))
        reached, drawn = weight * p_drawn[..., i : i + 1], q_drawn[..., i : i + 1]
        less = reached < drawn
        weight = xp.where(less, reached / xp.where(less, drawn, 1), 1)
    return [*steps, Step(p[..., gamma, :], weight, xp.ones_like(weight))]
