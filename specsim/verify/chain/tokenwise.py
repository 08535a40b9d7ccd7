"""Tokenwise verification: rejection at every position, stopping at the first draft that fails.

Law.         Draft x_i is kept with probability min(1, p_i(x_i)/q_i(x_i)) while all before it were;
             after n kept drafts the next token is drawn from (p_{n+1} - q_{n+1})+ normalised if
             n < gamma, from p_{gamma+1} if n = gamma.
Theorem.     T02: run one block and continue to gamma+1 tokens from the target: the joint law is the
             target's.
Acceptance.  P(n >= i | drafts) = prod_{j<=i} min(1, p_j/q_j)(x_j); given the text y that follows
             (continued by the target to gamma+1 tokens), prod_{j<=i} min(1, q_j/p_j)(y_j).
Randomness.  u[i] decides draft i; u[gamma] draws the token after them.
Cost.        O(gamma) for the tests, O(V) for the token.
Paper.       Leviathan et al., arXiv:2211.17192, algorithm 1; Chen et al., arXiv:2302.01318 (p and q
             swapped).
"""

from __future__ import annotations

from typing import NamedTuple

from specsim.base.arrays import accept_probability, array_namespace, at, leading, pick, residual, row_at
from specsim.types import Array

EXACT = True
THEOREM = "T02"
PROVED = {"lossless": "token_lossless", "acceptance": "token_survival"}
PAPER = "arXiv:2211.17192"


class Plan(NamedTuple):
    p: Array  # (..., gamma+1, V)
    q: Array  # (..., gamma, V)


def prepare(p: Array, q: Array) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens."""
    return Plan(p, q)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    p, q = plan
    xp = array_namespace(p, q)
    gamma = q.shape[-2]
    accepted = accept_probability(p[..., :gamma, :], q, drafts)[..., None]
    reached, rows = xp.ones_like(p[..., 0, :1]), []
    for i in range(gamma):
        rows.append(reached * (1 - accepted[..., i, :]) * left_over(p[..., i, :], q[..., i, :]))
        reached = reached * accepted[..., i, :]
    rows.append(reached * p[..., gamma, :])
    return xp.stack(rows, axis=-2)


def advance(weight: Array, ratio: Array) -> Array:
    """w_i from w_{i-1} and p_i/q_i(x_i): x_1..x_i are accepted with probability Q(x_1..x_i) w_i."""
    return weight * array_namespace(ratio).where(ratio < 1, ratio, 1)


def survival(ratio: Array) -> Array:
    """P(n >= i | text), i = 1..gamma, from ratio (..., gamma) = q(y)/p(y) along the emitted text."""
    xp = array_namespace(ratio)
    return xp.cumulative_prod(xp.where(ratio < 1, ratio, xp.ones_like(ratio)), axis=-1)


def uniforms(gamma: int) -> int:
    """One test per draft, one draw."""
    return gamma + 1


def keeps(p_drawn: Array, q_drawn: Array, u: Array) -> Array:
    """Number of accepted drafts (...), from the laws at the drafts and uniforms (..., gamma)."""
    return leading(u * q_drawn < p_drawn)


def left_over(p: Array, q: Array) -> Array:
    """Law of the token (..., V) where a draft fails, from that position's rows."""
    return residual(p, q)


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    p, q = plan
    xp = array_namespace(p, q)
    gamma = q.shape[-2]
    # Plain decoding is one draw, with no work around it.
    if gamma == 0:
        token = pick(p[..., 0, :], u[..., 0])
        return xp.zeros_like(token), token
    num_accepted = keeps(at(p[..., :gamma, :], drafts), at(q, drafts), u[..., :gamma])
    # Against a draft row of zeros the residual is p itself:
    # the bonus token needs no case of its own.
    q = xp.concat([q, xp.zeros_like(p[..., gamma:, :])], axis=-2)
    return num_accepted, pick(left_over(row_at(p, num_accepted), row_at(q, num_accepted)), u[..., gamma])
