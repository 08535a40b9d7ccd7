"""SpecHub: of two drafts one is a, the likeliest token of q; what the other leaves over of its pair goes to a.

Law.         Pairs (x, a) have mass f(x) = q(x), pairs (a, x) mass s(x) = q(a) q(x) / (1 - q(a));
             r = (p - f)+. From (x, a), x is kept with probability min(1, p(x)/f(x)); from (a, x),
             with min(1, r(x)/s(x)). Of the pairs that fail, (a, x) first, a mass p(a) emits a; the
             others draw y from what is left of p, off a.
Theorem.     T13: the output law is p, and no lossless rule for these drafts hits more often. One
             draft is rejection.
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
    first: Array  # (..., V): f, the mass of pairs (x, a)
    rest: Array  # (..., V): r, what f leaves over of p
    second: Array  # (..., V): s, the mass of pairs (a, x)
    hub: Array  # (...): a, a token id
    failed: tuple[Array, Array]  # (..., 1): mass that fails of pairs (x, a), then of pairs (a, x)
    to_hub: tuple[Array, Array]  # (..., 1): how much of these two masses goes to a
    left_over: Array  # (..., V): law of y


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """Plan with the masses of the two kinds of pairs, and of what fails; a single draft counts as a pair (x, a)."""
    xp = array_namespace(p, q)
    # Masses f and s of the pairs. With a single draft no token is the hub.
    top, others = hub.split(q, num_drafts)
    is_hub = (ids(q) == top[..., None]) & (num_drafts == 2)
    first = xp.where(is_hub, 0, q)
    second = (num_drafts - 1) * at(q, top)[..., None] * others
    # What f leaves over of p, then s of that; and the mass of the pairs that fail.
    rest = p - xp.minimum(p, first)
    last = rest - xp.minimum(rest, second)
    failed_first = xp.sum(first - xp.minimum(p, first), axis=-1, keepdims=True)
    failed_second = xp.sum(second - xp.minimum(rest, second), axis=-1, keepdims=True)
    # a has the mass `wanted` left; pairs (a, x) that fail give it first, pairs (x, a) the rest.
    wanted = xp.sum(xp.where(is_hub, last, 0 * last), axis=-1, keepdims=True)
    from_second = xp.minimum(wanted, failed_second)
    from_first = xp.minimum(wanted - from_second, failed_first)
    last = xp.where(is_hub, wanted - from_second - from_first, last)
    failed = (failed_first, failed_second)
    return Plan(p, first, rest, second, top, failed, (from_first, from_second), normalize_or(last, p))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    xp = array_namespace(plan.p)
    swapped, x = _tested(plan, drafts)
    # Probability that x passes its test.
    of_first = accept_probability(plan.p, plan.first, x)
    of_second = accept_probability(plan.rest, plan.second, x)
    accepted = xp.where(swapped, of_second, of_first)[..., None]
    # Law of the token if x fails: a share of the pairs that fail emits a, the others draw y.
    failed, to_hub = _of_pair(plan, swapped)
    share = to_hub / xp.where(failed > 0, failed, 1)
    replacement = share * one_hot(plan.hub, plan.p) + (1 - share) * plan.left_over
    return accepted * one_hot(x, plan.p) + (1 - accepted) * replacement


def acceptance(plan: Plan) -> Array:
    """Probability that the token is one of the drafts."""
    from_first, from_second = plan.to_hub
    to_hub = (from_first + from_second)[..., 0]
    return overlap(plan.p, plan.first) + overlap(plan.rest, plan.second) + to_hub


def uniforms(num_drafts: int) -> int:
    """Accept test, test of the hub if there are two drafts, residual draw."""
    return num_drafts + 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+1)."""
    xp = array_namespace(drafts)
    swapped, x = _tested(plan, drafts)
    # Test x.
    of_first = accepts(plan.p, plan.first, x, u[..., 0])
    of_second = accepts(plan.rest, plan.second, x, u[..., 0])
    accepted = xp.where(swapped, of_second, of_first)
    # If it fails, emit a or draw y. A single draft never emits a, so u[1] may draw y there.
    failed, to_hub = (mass[..., 0] for mass in _of_pair(plan, swapped))
    emits_hub = u[..., 1] * failed < to_hub
    replacement = xp.where(emits_hub, plan.hub, pick(plan.left_over, u[..., -1]))
    return xp.where(accepted, x, replacement)


def _tested(plan: Plan, drafts: Array) -> tuple[Array, Array]:
    """Return the pair as (swapped, x), both (...): swapped is True for (a, x), False for (x, a)."""
    swapped = (drafts[..., 0] == plan.hub) & (drafts.shape[-1] == 2)
    return swapped, array_namespace(drafts).where(swapped, drafts[..., -1], drafts[..., 0])


def _of_pair(plan: Plan, swapped: Array) -> tuple[Array, Array]:
    """Return (failed, to_hub), both (..., 1), of pairs (a, x) where `swapped` (...), else of pairs (x, a)."""
    xp, is_second = array_namespace(plan.p), swapped[..., None]
    failed_first, failed_second = plan.failed
    from_first, from_second = plan.to_hub
    return xp.where(is_second, failed_second, failed_first), xp.where(is_second, from_second, from_first)
