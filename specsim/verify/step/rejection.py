"""Rejection: keep the draft with probability min(1, p/q), else draw from what q leaves over.

Law.         x ~ q is kept with probability min(1, p(x)/q(x)); otherwise y ~ (p - q)+ / sum
             (p - q)+.
Theorem.     T01: the output law is p for every p and q, and no coupling keeps the draft more often.
Acceptance.  sum min(p, q) = 1 - TV(p, q).
Randomness.  u[0] decides; u[1] draws from the residual.
Cost.        O(V) time and memory.
Paper.       Leviathan et al., arXiv:2211.17192, algorithm 1 (same p, q); Chen et al.,
             arXiv:2302.01318 (swapped).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.arrays import accept_probability, array_namespace, at, one_hot, overlap, pick, residual
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
THEOREM = "T01"
PROVED = {"lossless": "spec_lossless", "acceptance": "spec_acceptance"}
PAPER = "arXiv:2211.17192"


class Plan(NamedTuple):
    p: Array
    q: Array
    left_over: Array


def prepare(p: Array, q: Array, num_drafts: int = 1) -> Plan:
    """Target and draft rows (..., V), and the residual."""
    return Plan(p, q, left_over(p, q))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    accepted = accept_probability(plan.p, plan.q, drafts[..., 0])[..., None]
    return accepted * one_hot(drafts[..., 0], plan.p) + (1 - accepted) * plan.left_over


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    return overlap(plan.p, plan.q)


def uniforms(num_drafts: int) -> int:
    """Accept test, residual draw."""
    return 2


def keeps(p_drawn: Array, q_drawn: Array, u: Array) -> Array:
    """True where a draft is accepted: the test u < p/q at it, without the division."""
    return u * q_drawn < p_drawn


def left_over(p: Array, q: Array) -> Array:
    """Law of the token (..., V) where the draft fails."""
    return residual(p, q)


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., 1) and u (..., 2)."""
    x = drafts[..., 0]
    accepted = keeps(at(plan.p, x), at(plan.q, x), u[..., 0])
    return array_namespace(x).where(accepted, x, pick(plan.left_over, u[..., 1]))
