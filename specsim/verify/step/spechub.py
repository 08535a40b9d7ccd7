"""SpecHub: of two drafts one is a, the likeliest token of q; what the other leaves over of its pair goes to a.

Law.         Pairs (x, a) have mass f(x) = q(x), pairs (a, x) mass s(x) = q(a) q(x) / (1 - q(a)); r = (p - f)+. From
             (x, a), x is kept with probability min(1, p(x)/f(x)); from (a, x), with min(1, r(x)/s(x)). Of the pairs
             that fail, (a, x) first, a mass p(a) emits a; the others draw y from what is left of p, off a.
Theorem.     T13: the output law is p, and no lossless rule for these drafts hits more often. One draft is rejection.
Acceptance.  sum min(p, f) + sum min(r, s) + the mass that goes to a; equal to the hit probability.
Randomness.  u[0] decides x; u[1], if there are two drafts, decides a; u[K] draws y.
Cost.        O(V).
Paper.       Sun et al., SpecHub, arXiv:2411.05289.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from specsim.base.arrays import (
    accept_probability,
    accepts,
    array_namespace,
    at,
    ids,
    normalize_or,
    one_hot,
    overlap,
    pick,
)
from specsim.draft import hub
from specsim.types import Array

DRAFTS: Literal["hub"] = "hub"
EXACT = True
THEOREM = "T13"
PROVED = {"lossless": "spechub_lossless", "acceptance": "spechub_acceptance"}
PAPER = "arXiv:2411.05289"


class Plan(NamedTuple):
    p: Array
    first: Array  # f
    rest: Array  # r
    second: Array  # s
    hub: Array  # a
    failed: tuple[Array, Array]  # (..., 1): mass of pairs (x, a), and of pairs (a, x), that fail
    given: tuple[Array, Array]  # (..., 1): how much of it goes to a
    left_over: Array


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """Masses of the two kinds of pairs, and what each leaves over of the target; one draft is all `first`."""
    xp = array_namespace(p, q)
    top, others = hub.split(q, num_drafts)
    is_hub = (ids(q) == top[..., None]) & (num_drafts == 2)
    first = xp.where(is_hub, 0, q)
    second = (num_drafts - 1) * at(q, top)[..., None] * others
    rest = p - xp.minimum(p, first)
    last = rest - xp.minimum(rest, second)
    failed = [xp.sum(w - xp.minimum(v, w), axis=-1, keepdims=True) for v, w in ((p, first), (rest, second))]
    wanted = xp.sum(xp.where(is_hub, last, 0 * last), axis=-1, keepdims=True)
    from_second = xp.minimum(wanted, failed[1])
    from_first = xp.minimum(wanted - from_second, failed[0])
    last = xp.where(is_hub, wanted - from_second - from_first, last)
    return Plan(p, first, rest, second, top, tuple(failed), (from_first, from_second), normalize_or(last, p))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    xp = array_namespace(plan.p)
    swapped, x = _tested(plan, drafts)
    kept = xp.where(swapped, accept_probability(plan.rest, plan.second, x), accept_probability(plan.p, plan.first, x))
    kept = kept[..., None]
    failed, given = (xp.where(swapped[..., None], w[1], w[0]) for w in (plan.failed, plan.given))
    to_hub = given / xp.where(failed > 0, failed, 1)
    other = to_hub * one_hot(plan.hub, plan.p) + (1 - to_hub) * plan.left_over
    return kept * one_hot(x, plan.p) + (1 - kept) * other


def acceptance(plan: Plan) -> Array:
    """Probability that the token is one of the drafts."""
    to_hub = plan.given[0] + plan.given[1]
    return overlap(plan.p, plan.first) + overlap(plan.rest, plan.second) + to_hub[..., 0]


def uniforms(num_drafts: int) -> int:
    """Accept test, test of the hub if there are two drafts, residual draw."""
    return num_drafts + 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+1)."""
    xp = array_namespace(drafts)
    swapped, x = _tested(plan, drafts)
    kept = xp.where(swapped, accepts(plan.rest, plan.second, x, u[..., 0]), accepts(plan.p, plan.first, x, u[..., 0]))
    failed, given = (xp.where(swapped, w[1][..., 0], w[0][..., 0]) for w in (plan.failed, plan.given))
    to_hub = u[..., 1] * failed < given  # never for one draft, where u[1] draws y
    return xp.where(kept, x, xp.where(to_hub, plan.hub, pick(plan.left_over, u[..., -1])))


def _tested(plan: Plan, drafts: Array) -> tuple[Array, Array]:
    """Whether the pair is (a, x), not (x, a); and x."""
    swapped = (drafts[..., 0] == plan.hub) & (drafts.shape[-1] == 2)
    return swapped, array_namespace(drafts).where(swapped, drafts[..., -1], drafts[..., 0])
