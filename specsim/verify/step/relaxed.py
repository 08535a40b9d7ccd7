"""Relaxed acceptance: a draft passes if it is among the target's likeliest tokens, near the best; lossy.

Law.         A holds the `relaxed_topk` likeliest tokens whose probability is at least
             max p - relaxed_delta. x ~ q is kept if it is in A; otherwise the token is argmax p
             (the first, on ties).
Theorem.     T50: the output law is q on A, and what q has outside A goes to argmax p. The bias is
             its TV distance from p; against greedy decoding it is q(A) - q(argmax p), the least
             there is at that acceptance.
Acceptance.  q(A).
Randomness.  None.
Cost.        O(V log V).
Paper.       TensorRT-LLM 3585984, mtpKernels.cu, mtpRelaxedAcceptanceKernel (use_relaxed_acceptance_
             for_thinking; p is the softmax at temperature 1, and outside of thinking delta is 0);
             Modular MAX has the same test, with the defaults of this file. No paper.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Literal, NamedTuple

from specsim.base import check
from specsim.base.arrays import array_namespace, at, is_exact, one_hot
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
BY_ID = True
THEOREM = "T50"
PAPER = ""


class Plan(NamedTuple):
    p: Array
    q: Array
    top: Array  # (...): argmax p
    candidates: Array  # booleans (..., V): the set A


def prepare(
    p: Array, q: Array, num_drafts: int = 1, relaxed_topk: int = 10, relaxed_delta: Fraction = Fraction(3, 5)
) -> Plan:
    """Plan of target and draft rows (..., V); relaxed_topk is at least 1, relaxed_delta in [0, inf)."""
    check.integer(relaxed_topk, "relaxed_topk", 1)
    check.scalar(relaxed_delta, "relaxed_delta", "[0, inf)")
    xp, ranked = array_namespace(p), ranks(p)
    best = xp.max(p, axis=-1, keepdims=True)
    delta = Fraction(relaxed_delta) if is_exact(p) else float(relaxed_delta)
    return Plan(p, q, xp.argmax(p, axis=-1), (ranked < relaxed_topk) & (p >= best - delta))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V): a point mass."""
    return one_hot(verify(plan, drafts), plan.p)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    xp = array_namespace(plan.q)
    return xp.sum(xp.where(plan.candidates, plan.q, 0 * plan.q), axis=-1)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    xp = array_namespace(plan.p, plan.q)
    accepted = xp.where(plan.candidates, plan.q, 0 * plan.q)
    refused = 1 - xp.sum(accepted, axis=-1, keepdims=True)
    output = accepted + refused * one_hot(plan.top, plan.p)
    return xp.sum(xp.abs(output - plan.p), axis=-1) / 2


def uniforms(num_drafts: int) -> int:
    """None: the rule is deterministic."""
    return 0


def verify(plan: Plan, drafts: Array, u: Array = None) -> Array:
    """Token (...) from drafts (..., 1)."""
    x = drafts[..., 0]
    return array_namespace(x).where(at(plan.candidates, x), x, plan.top)


def ranks(p: Array) -> Array:
    """Place (..., V) of each token among the tokens in order of falling p, from 0; ties by token id."""
    xp = array_namespace(p)
    order = xp.argsort(-p, axis=-1, stable=True)
    return xp.argsort(order, axis=-1, stable=True)
