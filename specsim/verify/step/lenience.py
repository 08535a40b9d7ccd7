"""Lenience: a draft is tested against the target's law over a number below 1; lossy.

Law.         x ~ q is kept with probability min(1, p(x) / (epsilon q(x))); else y ~ (p - q)+
             normalised.
Theorem.     T31: the bias is acceptance - (1 - TV(p, q)), the least there is at that acceptance; 0
             if p is one-hot. epsilon = 1 is `rejection`.
Acceptance.  sum min(q, p / epsilon).
Randomness.  u[0] decides; u[1] draws y.
Cost.        O(V) time and memory.
Paper.       Zhou et al., DistillSpec, arXiv:2310.08461 (f(p, epsilon) = p / epsilon); Leviathan et
             al. 2211.17192, A.5.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from specsim.base import check
from specsim.base.arrays import accept_probability, array_namespace, at, is_exact, one_hot, overlap, pick, residual
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
THEOREM = "T31"
PAPER = "arXiv:2310.08461"


class Plan(NamedTuple):
    p: Array
    q: Array
    # (..., V): min(q, p / epsilon), what is drafted and accepted, which sums to the acceptance.
    accepted: Array


def prepare(p: Array, q: Array, num_drafts: int = 1, epsilon: Fraction = Fraction(1, 2)) -> Plan:
    """Plan of target and draft rows (..., V); epsilon is from 1e-6 to 1, so that p / epsilon fits float32."""
    check.scalar(epsilon, "epsilon", "[1e-6, 1]")
    raised = p / (Fraction(epsilon) if is_exact(p) else float(epsilon))
    return Plan(p, q, array_namespace(p, q).where(raised < q, raised, q))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    x = drafts[..., 0]
    passes = accept_probability(plan.accepted, plan.q, x)[..., None]
    return passes * one_hot(x, plan.p) + (1 - passes) * residual(plan.p, plan.q)


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
    return array_namespace(x).where(accepted, x, pick(residual(plan.p, plan.q), u[..., 1]))
