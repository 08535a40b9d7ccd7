"""Speculative cascades: speculative sampling whose target is the draft's law where no help is needed; lossy.

Law.         x ~ q is kept with probability min(1, pi(x)/q(x)); else y ~ (pi - q)+ normalised. pi is
             q where `deferral` keeps the draft's law, and else p. `chow` defers if max q < 1 - alpha,
             `diff` if max q < max p - alpha, `opt` if max q < max p - alpha TV(p, q). Of the token
             rules a token v is deferred if q(v) < max p - alpha (`token_v1`), p(v) < max p - alpha
             (`token_v2`), p(v) < (1 - alpha) max p (`token_v3`), and pi is q on the others, plus p
             times what q has on deferred ones.
Theorem.     T53: the output law is pi and the bias TV(pi, p). It is the least at that acceptance if
             and only if pi lies between p and q, as with `chow`, `diff` and `opt`; the token rules
             can accept less than `rejection`, and be biased.
Acceptance.  sum min(pi, q).
Randomness.  u[0] decides; u[1] draws y.
Cost.        O(V) time and memory.
Paper.       Narasimhan et al., arXiv:2405.19261, equations 10, 11 and 13 to 15.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from specsim.base import check
from specsim.base.arrays import accept_probability, array_namespace, at, is_exact, one_hot, overlap, pick, residual
from specsim.base.unknown import unknown
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
THEOREM = "T53"
PAPER = "arXiv:2405.19261"
ROW_RULES, TOKEN_RULES = ("chow", "diff", "opt"), ("token_v1", "token_v2", "token_v3")


class Plan(NamedTuple):
    p: Array
    q: Array
    pi: Array  # (..., V): the law that is sampled


def prepare(p: Array, q: Array, num_drafts: int = 1, deferral: str = "opt", alpha: Fraction = Fraction(1, 10)) -> Plan:
    """Plan of target and draft rows (..., V); alpha in [-1, 1]."""
    check.scalar(alpha, "alpha", "[-1, 1]")
    if deferral not in (*ROW_RULES, *TOKEN_RULES):
        raise unknown("deferral", deferral, (*ROW_RULES, *TOKEN_RULES))
    xp = array_namespace(p, q)
    level = Fraction(alpha) if is_exact(p) else float(alpha)
    # Booleans (..., 1) or (..., V): what is deferred.
    deferred = _deferred(p, q, deferral, level)
    from_draft = xp.where(deferred, 0 * q, q)
    # eq. 11: what the draft has on deferred tokens is drawn from p; of a whole row it is all or nothing.
    share = 1 - xp.sum(from_draft, axis=-1, keepdims=True) if deferral in TOKEN_RULES else deferred * xp.ones_like(p)
    return Plan(p, q, from_draft + p * share)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    x = drafts[..., 0]
    accepted = accept_probability(plan.pi, plan.q, x)[..., None]
    return accepted * one_hot(x, plan.p) + (1 - accepted) * residual(plan.pi, plan.q)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    return overlap(plan.pi, plan.q)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    xp = array_namespace(plan.p, plan.pi)
    return xp.sum(xp.abs(plan.pi - plan.p), axis=-1) / 2


def uniforms(num_drafts: int) -> int:
    """One for the test, one for the token that replaces the draft."""
    return 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., 1) and u (..., 2)."""
    x = drafts[..., 0]
    accepted = u[..., 0] * at(plan.q, x) < at(plan.pi, x)
    return array_namespace(x).where(accepted, x, pick(residual(plan.pi, plan.q), u[..., 1]))


def _deferred(p: Array, q: Array, deferral: str, alpha: Fraction | float) -> Array:
    """Booleans: (..., 1) of a row, or (..., V) of its tokens, that are deferred to p."""
    xp = array_namespace(p, q)
    best, best_drafted = xp.max(p, axis=-1, keepdims=True), xp.max(q, axis=-1, keepdims=True)
    if deferral == "chow":
        return best_drafted < 1 - alpha
    if deferral == "diff":
        return best_drafted < best - alpha
    if deferral == "opt":
        distance = 1 - xp.sum(xp.where(p < q, p, q), axis=-1, keepdims=True)
        return best_drafted < best - alpha * distance
    if deferral == "token_v1":
        return q < best - alpha
    return p < (best - alpha if deferral == "token_v2" else (1 - alpha) * best)
