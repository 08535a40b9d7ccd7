"""Greedy drafting's own verifier: rejection of the last draft, the only one that was drawn.

Law.         d, the law of x_K, is q without its K - 1 top tokens, renormalised. x_K is kept with
             probability min(1, p(x_K)/d(x_K)); otherwise y ~ (p - d)+ / sum (p - d)+, which holds
             all of p on the top tokens.
Theorem.     T12: the output law is p, and no lossless rule for these drafts hits more often.
Acceptance.  sum_top p + sum_rest min(p, d): the recovered token may be one of the other drafts, so
             this hit probability exceeds the probability sum min(p, d) that x_K is kept.
Randomness.  u[0] decides x_K; u[1] draws from the residual.
Cost.        O(K V).
Paper.       Hu et al., arXiv:2502.18779 (greedy draft sampling and its verification).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.arrays import array_namespace, ids
from specsim.draft import greedy
from specsim.types import Array
from specsim.verify.step import rejection

DRAFTS: Literal["greedy"] = "greedy"
EXACT = True
THEOREM = "T12"
PROVED = {"lossless": "spec_lossless", "acceptance": "greedy_draft_acceptance"}
PAPER = "arXiv:2502.18779"


class Plan(NamedTuple):
    last: rejection.Plan  # target against the law of the last draft
    top: Array  # whether a token is one of the other drafts


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """The top tokens, and rejection of the last draft."""
    top, rest = greedy.split(q, num_drafts)
    drafted = ids(q) < 0
    for token in top:
        drafted = drafted | (ids(q) == token[..., None])
    return Plan(rejection.prepare(p, rest), drafted)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    return rejection.transition(plan.last, drafts[..., -1:])


def acceptance(plan: Plan) -> Array:
    """Probability that the token is one of the drafts."""
    p, d, _ = plan.last
    xp = array_namespace(p)
    return xp.sum(xp.where(plan.top | (p < d), p, d), axis=-1)


def uniforms(num_drafts: int) -> int:
    """Accept test, residual draw."""
    return 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., 2)."""
    return rejection.verify(plan.last, drafts[..., -1:], u)
