"""Typical acceptance: keep the draft if the target finds it likely enough, else draw from the target; lossy.

Law.         With H(p) = -sum p log p and A = {v: p(v) > min(epsilon, delta exp(-H(p)))}: x ~ q is
             kept if it is in A; otherwise y ~ p. The output law is q 1_A + (1 - q(A)) p.
Theorem.     T27: the bias is TV(output, p) = 1/2 sum |q 1_A - q(A) p|; it is 0 if p is one-hot, and
             at most q(A).
Acceptance.  q(A) + sum_{v not in A} q(v) p(v): a draft that fails may be drawn again.
Randomness.  u[0] draws y.
Cost.        O(V) time and memory.
Paper.       Cai et al., Medusa, arXiv:2401.10774, section 2.3.2 (their p_original is our p;
             delta = sqrt(epsilon)).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import array_namespace, at, is_exact, one_hot, pick, wide
from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
# A is decided in float64, which has exp and log; with A known everything is rational in p and q.
EXACT = False
THEOREM = "T27"
PAPER = "arXiv:2401.10774"


class Plan(NamedTuple):
    p: Array
    q: Array
    typical: Array  # booleans (..., V): the set A


def prepare(p: Array, q: Array, num_drafts: int = 1, epsilon: float = 0.09, delta: float = 0.3) -> Plan:
    """Plan of target and draft rows (..., V) and the set A; epsilon in (0, 1] and delta > 0 are Medusa's."""
    check.scalar(epsilon, "epsilon", "(0, 1]")
    check.scalar(delta, "delta", "(0, inf)")
    return Plan(p, q, _typical(p, epsilon, delta))


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., 1)."""
    x = drafts[..., 0]
    accepted = at(plan.typical, x)[..., None]
    return array_namespace(plan.p).where(accepted, one_hot(x, plan.p), plan.p)


def acceptance(plan: Plan) -> Array:
    """Probability that the token is the draft."""
    xp = array_namespace(plan.p)
    return xp.sum(xp.where(plan.typical, plan.q, plan.q * plan.p), axis=-1)


def bias(plan: Plan) -> Array:
    """TV distance of the output law from p."""
    xp = array_namespace(plan.p)
    # q on A, and q(A).
    accepted = xp.where(plan.typical, plan.q, 0 * plan.q)
    rate = xp.sum(accepted, axis=-1, keepdims=True)
    return xp.sum(xp.abs(accepted - rate * plan.p), axis=-1) / 2


def uniforms(num_drafts: int) -> int:
    """One, for the token drawn from p: whether the draft is kept needs none."""
    return 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., 1) and u (..., 1)."""
    x = drafts[..., 0]
    return array_namespace(x).where(at(plan.typical, x), x, pick(plan.p, u[..., 0]))


def _typical(p: Array, epsilon: float, delta: float) -> Array:
    """Booleans (..., V): p > min(epsilon, delta exp(-H(p))), with 0 log 0 = 0."""
    p = p.astype(np.float64) if is_exact(p) else wide(p)
    xp = array_namespace(p)
    entropy = -xp.sum(p * xp.log(xp.where(p > 0, p, 1.0)), axis=-1, keepdims=True)
    level = delta * xp.exp(-entropy)
    return p > xp.where(level < epsilon, level, epsilon)
