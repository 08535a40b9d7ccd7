"""Block verification: tests that look at the whole block, of which the last success counts.

Law.         w_0 = 1, w_i = min(1, w_{i-1} p_i(x_i)/q_i(x_i)), S_i = sum_v (w_i
             p_{i+1}(v) - q_{i+1}(v))+. Draft i passes with probability S_i/(S_i + 1 - w_i), the
             last one with w_gamma, each on its own; all drafts up to the last that passes are kept,
             n of them. The next token is drawn from (w_n p_{n+1} - q_{n+1})+ normalised if
             n < gamma, from p_{gamma+1} if n = gamma.
Theorem.     T17: run one block and continue to gamma+1 tokens from the target: the joint law is the
             target's. No other rule that keeps a prefix and continues from the target keeps more
             drafts on average.
Acceptance.  E[n] = sum_i E_q[w_i]; given the text y that follows (continued by the target to
             gamma+1 tokens), P(n >= i | y) = min(1, min_{j<=i} prod_{l<=j} q_l/p_l(y_l)).
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma V): a sum over the vocabulary at every position.
Paper.       Sun et al., block verification, arXiv:2403.10444, algorithm 2.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from array_api_compat import device

from specsim.base.arrays import (
    array_namespace,
    at,
    excess,
    is_exact,
    mass,
    noise,
    normalize_or,
    pick,
    product,
    row_at,
    wide,
)
from specsim.types import Array

EXACT = True
THEOREM = "T17"
PROVED = {"lossless": "block_lossless", "acceptance": "block_survival"}
PAPER = "arXiv:2403.10444"


class Plan(NamedTuple):
    p: Array  # (..., gamma+1, V)
    q: Array  # (..., gamma, V)


class Steps(NamedTuple):
    """The test of each draft and the law of the token after it, at positions i = 0, ..., gamma."""

    # (..., gamma+1, V): (w_i p - q)+, unnormalised; p after the last draft.
    rows: Array
    # (..., gamma+1), both: draft i passes with probability min(1, more/less), 1 at 0/0. Numerator and
    # denominator are kept apart, so that nothing is divided before the test.
    more: Array
    less: Array


def prepare(p: Array, q: Array) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens."""
    return Plan(p, q)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    return joint_law(plan.p, _steps(plan, drafts))


def advance(weight: Array, ratio: Array) -> Array:
    """w_i from w_{i-1} and p_i/q_i(x_i): x_1..x_i are accepted with probability Q(x_1..x_i) w_i."""
    xp = array_namespace(ratio)
    return xp.where(weight * ratio < 1, weight * ratio, 1)


def survival(ratio: Array) -> Array:
    """P(n >= i | text), i = 1..gamma, from ratio (..., gamma) = q(y)/p(y) along the emitted text."""
    xp = array_namespace(ratio)
    # min(1, min_{j<=i} prod_{l<=j} q_l/p_l): the least joint ratio so far, at most 1.
    least = joint = xp.ones_like(ratio[..., :1])
    leasts = []
    for i in range(ratio.shape[-1]):
        joint = product(joint, ratio[..., i : i + 1])
        least = xp.where(joint < least, joint, least)
        leasts.append(least)
    return xp.concat(leasts, axis=-1) if leasts else ratio


def uniforms(gamma: int) -> int:
    """One test per draft, one draw."""
    return gamma + 1


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    # Plain decoding is one draw, with no work around it.
    if plan.q.shape[-2] == 0:
        token = pick(plan.p[..., 0, :], u[..., 0])
        return array_namespace(token).zeros_like(token), token
    return last_success(plan.p, _steps(plan, drafts), u)


def joint_law(p: Array, steps: Any) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token); the last draft that passes is the last accepted."""
    xp = array_namespace(p)
    rows, law = normalize_or(steps.rows, p), []
    # From the last draft backwards: the probability that no later draft passes.
    none_later = xp.ones_like(steps.more[..., :1])
    for i in reversed(range(p.shape[-2])):
        more, less = steps.more[..., i : i + 1], steps.less[..., i : i + 1]
        is_certain = (more >= less) | (i == 0)
        passes = xp.where(is_certain, 1, more / xp.where(is_certain, 1, less))
        law.append(none_later * passes * rows[..., i, :])
        none_later = none_later * (1 - passes)
    return xp.stack(law[::-1], axis=-2)


def scales(p_drawn: Array, q_drawn: Array) -> tuple[Array, Array]:
    """Factors (above, below) (..., gamma+1) of the rows (above p - below q)+; p, q are at the drafts."""
    xp = array_namespace(p_drawn, q_drawn)
    weight = _weights(_ratio(p_drawn, q_drawn), 0 * p_drawn[..., 0] + 1)
    return weight, xp.ones_like(weight)


def last_passed(more: Array, less: Array, u: Array) -> Array:
    """Number of accepted drafts (...), up to the last that passes its test u < more/less."""
    xp, gamma = array_namespace(more), more.shape[-1]
    passes = (more >= less) | (u * less < more)
    if gamma:
        return xp.max(xp.where(passes, xp.arange(1, gamma + 1, device=device(more)), 0), axis=-1)
    return xp.zeros(more.shape[:-1], dtype=xp.int64, device=device(more))


def last_success(p: Array, steps: Any, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)): u[i] tests draft i, the last one draws."""
    xp, gamma = array_namespace(p), p.shape[-2] - 1
    num_accepted = last_passed(steps.more[..., 1:], steps.less[..., 1:], u[..., :gamma])
    # The next token's row; p itself if the row holds only rounding.
    row = row_at(steps.rows, num_accepted)
    left_over = xp.sum(row, axis=-1, keepdims=True) > noise(row)
    return num_accepted, pick(xp.where(left_over, row, row_at(p, num_accepted)), u[..., gamma])


def from_weights(plan: Plan, weight: Array) -> Steps:
    """Steps of all positions in one pass, from w_0, ..., w_gamma (..., gamma+1)."""
    p, q = plan
    xp, gamma = array_namespace(p, q), q.shape[-2]
    rows = excess(xp.astype(weight[..., :gamma, None], p.dtype) * p[..., :gamma, :], q)
    more = xp.concat([mass(rows), weight[..., gamma:]], axis=-1)
    # S_i + 1 - w_i; for the last draft w + (1 - w) rounds to 1, so it passes with probability w.
    less = more + (1 - weight)
    return Steps(xp.concat([rows, p[..., gamma:, :]], axis=-2), more, less)


def _steps(plan: Plan, drafts: Array) -> Steps:
    """Steps of the block at its gamma+1 positions, given drafts (..., gamma)."""
    p, q = plan
    xp = array_namespace(p, q)
    p_drawn, q_drawn = (wide(at(w, drafts)) for w in (p[..., : q.shape[-2], :], q))
    ratio = _ratio(p_drawn, q_drawn)
    # w_0 = 1, with the shape of the batch.
    start = xp.ones_like(ratio[..., 0]) if drafts.shape[-1] else wide(xp.ones_like(p[..., 0, 0]))
    return from_weights(plan, _weights(ratio, start))


def _ratio(p_drawn: Array, q_drawn: Array) -> Array:
    """p/q at the drafts; below the smallest normal number, where no draft is, q counts as 1, so all is finite."""
    xp = array_namespace(q_drawn)
    least = 0 if is_exact(q_drawn) else float(xp.finfo(q_drawn.dtype).smallest_normal)
    return p_drawn / xp.where(q_drawn > least, q_drawn, 1)


def _weights(ratio: Array, start: Array) -> Array:
    """w_0 = `start`, ..., w_gamma (..., gamma+1) from ratio (..., gamma) = p/q along the drafts.

    The products are formed in the wider type and never leave [0, 1]. One that underflows (below
    1e-308; in JAX without 64 bits 1e-38) stays 0, which costs every later draft at most that much:
    drafts from q do not raise a weight on average (T17). So no logarithms are needed, which
    Fractions do not have. Each is made from the one before it, the only numbers of a block that
    are: two calls for each, and all that is as wide as the vocabulary in one pass.
    """
    xp, weights = array_namespace(start), [start]
    for i in range(ratio.shape[-1]):
        joint = weights[-1] * ratio[..., i] if i else ratio[..., i]
        weights.append(xp.minimum(joint, start))
    return xp.stack(weights, axis=-1)
