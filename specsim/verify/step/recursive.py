"""Recursive rejection: try the drafts in order, each against what the earlier ones left over.

Law.         Draft x_k is kept with probability min(1, r_k(x_k)/q(x_k)), r_1 = p, r_{k+1}
             proportional to (r_k - q)+; if none is kept, y ~ r_{K+1}.
Theorem.     T04: the output law is p for every p, q and K.
Acceptance.  1 - prod_k (1 - sum min(r_k, q)); equal to the hit probability (a rejected token has no
             residual mass).
Randomness.  u[k] decides draft k; u[K] draws from the last residual.
Cost.        O(K V) time and memory.
Paper.       Miao et al., SpecInfer, arXiv:2305.09781, algorithm 2 (their P is our p).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.arrays import accept_probability, accepts, array_namespace, one_hot, overlap, pick, residual
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
EXACT = True
THEOREM = "T04"
PROVED = {"lossless": "rrs_with_replacement", "acceptance": "recursive_acceptance"}
PAPER = "arXiv:2305.09781"


class Plan(NamedTuple):
    q: Array
    left_over: tuple[Array, ...]  # r_1 = p, ..., r_{K+1}


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """The K residuals of target and draft rows (..., V)."""
    rows = [p]
    for _ in range(num_drafts):
        rows.append(residual(rows[-1], q))
    return Plan(q, tuple(rows))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    law, reached = 0, 1
    for k, row in enumerate(plan.left_over[:-1]):
        accepted = accept_probability(row, plan.q, drafts[..., k])[..., None]
        law = law + reached * accepted * one_hot(drafts[..., k], row)
        reached = reached * (1 - accepted)
    return law + reached * plan.left_over[-1]


def acceptance(plan: Plan) -> Array:
    """Probability that some draft is kept."""
    all_rejected = 1
    for row in plan.left_over[:-1]:
        all_rejected = all_rejected * (1 - overlap(row, plan.q))
    return 1 - all_rejected


def uniforms(num_drafts: int) -> int:
    """One test per draft, one residual draw."""
    return num_drafts + 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+1)."""
    num_drafts = len(plan.left_over) - 1
    token = pick(plan.left_over[-1], u[..., num_drafts])
    # The first draft that passes wins, so it is written last.
    for k in reversed(range(num_drafts)):
        accepted = accepts(plan.left_over[k], plan.q, drafts[..., k], u[..., k])
        token = array_namespace(token).where(accepted, drafts[..., k], token)
    return token
