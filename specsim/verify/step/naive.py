"""Naive: draw from the target; a draft counts when it happens to be that token.

Law.         y ~ p, whatever was drafted.
Theorem.     T10: the output law is p; the acceptance is the optimum when q is one-hot or p is.
Acceptance.  sum p (1 - (1 - q)^K) for K i.i.d. drafts.
Randomness.  u[0] draws y.
Cost.        O(V).
Paper.       Miao et al., SpecInfer, arXiv:2305.09781 (naive sampling, what they compare with; their
             P is our p).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.arrays import array_namespace, pick
from specsim.draft import iid
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
EXACT = True
THEOREM = "T10"
PROVED = {"lossless": "naive_lossless", "acceptance": "naive_acceptance"}
PAPER = "arXiv:2305.09781"


class Plan(NamedTuple):
    p: Array
    q: Array
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """Target and draft rows (..., V); only `acceptance` reads q."""
    return Plan(p, q, num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V): p for all drafts (..., K)."""
    return plan.p + 0 * drafts[..., :1]  # 0 * drafts: leading axes broadcast


def acceptance(plan: Plan) -> Array:
    """Probability that the token was drafted."""
    missed = iid.inside(1 - plan.q, plan.num_drafts)
    return array_namespace(plan.p).sum(plan.p * (1 - missed), axis=-1)


def uniforms(num_drafts: int) -> int:
    """One, for the token."""
    return 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from u (..., 1), the same for all drafts (..., K)."""
    return pick(plan.p, u[..., 0]) + 0 * drafts[..., 0]
