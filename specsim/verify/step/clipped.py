"""Clipped ratio: lenience whose refused drafts go to the tokens that the output has least of; lossy.

Law.         x ~ q is kept with probability min(1, p(x) / (epsilon q(x))); else y ~ (B p - q)+
             normalised, with B such that this row sums to what is refused. The output is p times
             q/p clipped to [B, 1/epsilon].
Theorem.     T44: of all outputs of rules of one draft that accept as often, this one is closest to p
             in total variation, in KL of either direction and in every other f-divergence.
             epsilon = 1 is `rejection`.
Acceptance.  sum min(q, p / epsilon), that of `lenience`.
Randomness.  u[0] decides; u[1] draws y.
Cost.        O(V log V) time, one sort, and O(V) memory.
Paper.       None; the law is that of Huber 1965, Annals of Mathematical Statistics 36.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from specsim.base import check
from specsim.base.arrays import (
    accept_probability,
    array_namespace,
    at,
    excess,
    is_exact,
    normalize_or,
    one_hot,
    overlap,
    pick,
    prefix_scan,
)
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
THEOREM = "T44"
PAPER = "T44 in proofs/"


class Plan(NamedTuple):
    p: Array
    q: Array
    # (..., V): min(q, p / epsilon), what is drafted and accepted, which sums to the acceptance.
    accepted: Array
    # (..., V): what a refused draft is replaced from, a law.
    replacement: Array


def prepare(p: Array, q: Array, num_drafts: int = 1, epsilon: Fraction = Fraction(1, 2)) -> Plan:
    """Plan of target and draft rows (..., V); epsilon is from 1e-6 to 1, so that p / epsilon fits float32."""
    check.scalar(epsilon, "epsilon", "[1e-6, 1]")
    xp = array_namespace(p, q)
    raised = p / (Fraction(epsilon) if is_exact(p) else float(epsilon))
    accepted = xp.where(raised < q, raised, q)
    # What is refused fills the lowest ratios q/p up to one level B: the least (q(S) + refused) / p(S)
    # of all sets S, which a prefix of the order of q/p attains.
    low = prefix_scan(q, p)
    refused = xp.sum(q - accepted, axis=-1, keepdims=True)
    has_mass = low.q_mass > 0
    levels = (low.p_mass + refused) / xp.where(has_mass, low.q_mass, xp.ones_like(low.q_mass))
    floor = xp.min(xp.where(has_mass & (levels < 1), levels, xp.ones_like(levels)), axis=-1, keepdims=True)
    level = xp.astype(floor, p.dtype) if floor.dtype != p.dtype else floor
    return Plan(p, q, accepted, normalize_or(excess(level * p, q), p))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    x = drafts[..., 0]
    passes = accept_probability(plan.accepted, plan.q, x)[..., None]
    return passes * one_hot(x, plan.p) + (1 - passes) * plan.replacement


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    return array_namespace(plan.accepted).sum(plan.accepted, axis=-1)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    return acceptance(plan) - overlap(plan.p, plan.q)


def uniforms(num_drafts: int) -> int:
    """One for the test, one for the token that replaces the draft."""
    return 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., 1) and u (..., 2)."""
    x = drafts[..., 0]
    accepted = u[..., 0] * at(plan.q, x) < at(plan.accepted, x)
    return array_namespace(x).where(accepted, x, pick(plan.replacement, u[..., 1]))
