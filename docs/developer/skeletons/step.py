"""Own: draw from the target; a draft counts when it happens to be that token (the rule `naive`, written anew).

Law.         y ~ p, whatever was drafted.
Theorem.     Immediate: the output law is p.
Acceptance.  sum p (1 - (1 - q)^K) for K i.i.d. drafts.
Randomness.  u[0] draws y.
Cost.        O(V).
Paper.       Miao et al., SpecInfer, arXiv:2305.09781 (naive sampling).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from array_api_compat import array_namespace

from specsim.base.arrays import pick
from specsim.draft import iid
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"  # the scheme that candidates must come from
EXACT = True  # only + - * / and comparisons: the checks run it on Fractions
THEOREM = "open"  # or the note in proofs/, as "T10"
PAPER = "arXiv:2305.09781"


class Plan(NamedTuple):
    """What `prepare` works out once for many draws."""

    p: Array  # (..., V)
    q: Array
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """Target and draft rows (..., V)."""
    return Plan(p, q, num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    return plan.p + 0 * drafts[..., :1]  # 0 * drafts: leading axes broadcast


def acceptance(plan: Plan) -> Array:
    """Probability (...) that the token is one of the drafts."""
    missed = iid.inside(1 - plan.q, plan.num_drafts)
    return array_namespace(plan.p).sum(plan.p * (1 - missed), axis=-1)


def uniforms(num_drafts: int) -> int:
    """How many uniforms `verify` reads."""
    return 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., 1): the sampler of `transition`."""
    return pick(plan.p, u[..., 0]) + 0 * drafts[..., 0]
