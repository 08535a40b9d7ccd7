"""Acceptance thresholds of SGLang: a draft passes with more than its target probability, or as likely enough; lossy.

Law.         x ~ q is kept if p(x) >= threshold_single, and else with probability
             min(1, p(x) / threshold_acc); if it is not kept, y ~ p without x, normalised.
Theorem.     T51: a draft x is forced with probability (a - p) / (1 - p) at x, where a is its
             acceptance, and else the token is drawn from p. The output law is f + (1 - F) p, where
             f is what q forces and F its sum; the bias is 1/2 sum |f - F p|. Both thresholds 1 are
             lossless.
Acceptance.  sum q a.
Randomness.  u[0] decides; u[1] draws y.
Cost.        O(V) time and memory.
Paper.       SGLang 120affb, sgl-kernel/csrc/speculative/speculative_sampling.cuh
             (--speculative-accept-threshold-single and -acc, both 1 by default; p after
             temperature, top-k and top-p; a chain of drafts, topk = 1). No paper.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from specsim.base import check
from specsim.base.arrays import array_namespace, at, emptied, is_exact, normalize_or, one_hot, pick
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
THEOREM = "T51"
PAPER = ""

# The kernel divides by no less than this.
LEAST_ACC = Fraction(1, 10**9)


class Plan(NamedTuple):
    p: Array
    q: Array
    accepted: Array  # (..., V): probability a that a token, once drafted, is kept
    forced: Array  # (..., V): f, the probability that a token is drafted and forced


def prepare(
    p: Array,
    q: Array,
    num_drafts: int = 1,
    threshold_single: Fraction = Fraction(2, 5),
    threshold_acc: Fraction = Fraction(3, 4),
) -> Plan:
    """Plan of target and draft rows (..., V); both thresholds in [0, 1]."""
    check.scalar(threshold_single, "threshold_single", "[0, 1]")
    check.scalar(threshold_acc, "threshold_acc", "[0, 1]")
    number = Fraction if is_exact(p) else float
    single, acc = number(threshold_single), max(number(threshold_acc), number(LEAST_ACC))
    # min(1, p / acc), and 1 from the other threshold on.
    xp = array_namespace(p, q)
    is_sure = (p >= single) | (p >= acc)
    accepted = xp.where(is_sure, xp.ones_like(p), p / acc)
    # (a - p) / (1 - p), which is 1 where a is, also for p = 1.
    rest = xp.where(is_sure, xp.ones_like(p), 1 - p)
    forced = xp.where(is_sure, xp.ones_like(p), (accepted - p) / rest)
    return Plan(p, q, accepted, q * forced)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    x = drafts[..., 0]
    passes = at(plan.accepted, x)[..., None]
    return passes * one_hot(x, plan.p) + (1 - passes) * normalize_or(emptied(plan.p, x), plan.p)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    return array_namespace(plan.q).sum(plan.q * plan.accepted, axis=-1)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    xp = array_namespace(plan.p, plan.forced)
    total = xp.sum(plan.forced, axis=-1, keepdims=True)
    return xp.sum(xp.abs(plan.forced - total * plan.p), axis=-1) / 2


def uniforms(num_drafts: int) -> int:
    """One for the test, one for the token that replaces the draft."""
    return 2


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., 1) and u (..., 2)."""
    x = drafts[..., 0]
    accepted = u[..., 0] < at(plan.accepted, x)
    return array_namespace(x).where(accepted, x, pick(emptied(plan.p, x), u[..., 1]))
