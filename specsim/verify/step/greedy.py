"""Greedy: emit the target's most likely token; a draft is accepted when it is that token.

Law.         y = argmax p (the first, on ties), whatever was drafted.
Theorem.     T05: the output law is p exactly when p is one-hot, which temperature 0 makes it;
             otherwise the bias is TV(output, p) = 1 - max p.
Acceptance.  1 - (1 - q(argmax p))^K for K i.i.d. drafts; the optimum when p is one-hot.
Randomness.  None.
Cost.        O(V).
Paper.       Stern et al., blockwise parallel decoding, arXiv:1811.03115, section 3 (exact match
             with the greedy token).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.arrays import array_namespace, at, one_hot
from specsim.draft import iid
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
EXACT = True
THEOREM = "T05"
PAPER = "arXiv:1811.03115"


class Plan(NamedTuple):
    p: Array
    q: Array
    top: Array
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """The target's top token."""
    return Plan(p, q, array_namespace(p).argmax(p, axis=-1), num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V): a point mass, the same for all drafts (..., K)."""
    return one_hot(verify(plan, drafts), plan.p)


def acceptance(plan: Plan) -> Array:
    """Probability that the top token was drafted."""
    return 1 - iid.inside(1 - at(plan.q, plan.top), plan.num_drafts)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    return 1 - at(plan.p, plan.top)


def uniforms(num_drafts: int) -> int:
    """None: the rule is deterministic."""
    return 0


def verify(plan: Plan, drafts: Array, u: Array = None) -> Array:
    """Token (...), the same for all drafts (..., K)."""
    return plan.top + 0 * drafts[..., 0]  # 0 * drafts: leading axes broadcast
