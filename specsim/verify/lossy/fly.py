"""FLy: a refused draft is kept where the target is unsure and the drafts after it pass; lossy.

Law.         Each draft is tested by itself: it passes with probability min(1, p_i/q_i)(x_i); with
             `greedy`, if x_i is argmax p_i. One that fails is deferred if the entropy of the
             `fly_entropy_top_k` likeliest tokens of p_i is at least `fly_entropy_threshold`,
             p_i(x_i) > 0, and the next `fly_window_size` drafts are in the block and all pass.
             Drafts that pass or are deferred are kept, up to the first that is neither; the token
             after them is drawn as in `tokenwise`, or with `greedy` it is the argmax.
Theorem.     T52: the bias of the first token is the probability that it is deferred, the least there
             is at that acceptance. Tokens after a deferred one follow min(p, q), normalised,
             instead of p.
Acceptance.  E[n] from `transition`.
Randomness.  u[i] tests draft i; u[gamma] draws the token after the drafts that are kept.
Cost.        O(gamma V) for the tests, O(gamma^2 window) for the law.
Paper.       FLy, arXiv:2511.22972; as in vLLM 1719fb1, v1/spec_decode/fly.py, whose entropy is that
             of the processed target probabilities.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.arrays import (
    accept_probability,
    array_namespace,
    at,
    is_exact,
    leading,
    one_hot,
    overlap,
    pick,
    positive_part,
    residual,
    row_at,
    wide,
)
from specsim.types import Array

# Where a draft may be deferred is decided in float64; with that known all is rational in p and q.
EXACT = False
THEOREM = "T52"
PAPER = "arXiv:2511.22972"


class Plan(NamedTuple):
    p: Array  # (..., gamma+1, V)
    q: Array  # (..., gamma, V)
    unsure: Array  # booleans (..., gamma): places where a draft may be deferred
    window: int
    greedy: bool


def prepare(
    p: Array,
    q: Array,
    fly_window_size: int = 0,
    fly_entropy_threshold: float = 0.3,
    fly_entropy_top_k: int = 3,
    greedy: bool = False,
) -> Plan:
    """Target rows (..., gamma+1, V) and draft rows (..., gamma, V) along the drafted tokens.

    A window of 0 is vLLM's default, min(6, gamma - 1). With `greedy` the text is the target's
    argmax, and p is the law whose entropy is taken.
    """
    check.integer(fly_window_size, "fly_window_size", 0)
    check.scalar(fly_entropy_threshold, "fly_entropy_threshold", "[0, inf)")
    check.integer(fly_entropy_top_k, "fly_entropy_top_k", 1)
    if not isinstance(greedy, (bool, np.bool_)):
        raise TypeError(f"greedy must be True or False, got {check.shown(greedy)}")
    gamma, xp = q.shape[-2], array_namespace(p)
    window = fly_window_size or max(1, min(6, gamma - 1))
    is_unsure = entropy(p[..., :gamma, :], fly_entropy_top_k) >= fly_entropy_threshold
    # The window must lie inside the block.
    is_followed = xp.asarray(np.arange(gamma) + window < gamma)
    return Plan(p, q, is_unsure & is_followed, window, greedy)


def entropy(p: Array, top_k: int) -> Array:
    """Sum of -p log p over the top_k likeliest tokens, (...), in float64."""
    p = p.astype(np.float64) if is_exact(p) else wide(p)
    xp = array_namespace(p)
    likeliest = xp.sort(p, axis=-1)[..., -min(top_k, p.shape[-1]) :]
    return -xp.sum(likeliest * xp.log(xp.where(likeliest > 0, likeliest, 1.0)), axis=-1)


def bias(plan: Plan) -> Array:
    """TV distance (...) of the first token from its law, where no row depends on the drafts before it.

    The law is p of the first place; with `greedy`, its argmax.
    """
    gamma, xp = plan.q.shape[-2], array_namespace(plan.p)
    first, drafted = plan.p[..., 0, :], plan.q[..., 0, :]
    # What is drafted and fails its test, where p allows it.
    tops = one_hot(xp.argmax(plan.p[..., :gamma, :], axis=-1), plan.p[..., :gamma, :])
    target = tops if plan.greedy else plan.p[..., :gamma, :]
    failed = xp.sum(xp.where(first > 0, positive_part(drafted - target[..., 0, :]), 0 * drafted), axis=-1)
    # The probability that the drafts of the window pass.
    for i in range(1, min(plan.window + 1, gamma)):
        failed = failed * overlap(target[..., i, :], plan.q[..., i, :])
    return xp.where(plan.unsure[..., 0], failed, 0 * failed)


def transition(plan: Plan, drafts: Array) -> Array:
    """Joint law (..., gamma+1, V) of (number accepted, next token) given drafts (..., gamma)."""
    gamma, xp = plan.q.shape[-2], array_namespace(plan.p)
    passes, deferrable = _passes(plan, drafts), _deferrable(plan, drafts)
    one = xp.ones_like(plan.p[..., 0, :1])
    # From the last place backwards: runs[r] (..., gamma+1) is the probability that the first draft
    # that is not kept is m, and that the next r drafts pass (`window` of them or more for the last r).
    places = np.arange(gamma + 1)
    nothing = one * xp.asarray(places < 0)
    runs = [nothing + one * xp.asarray(places == gamma), *[nothing] * plan.window]
    for i in reversed(range(gamma)):
        passed, may_defer = passes[..., i, None], deferrable[..., i, None]
        deferred = xp.where(may_defer, runs[-1], 0 * runs[-1])
        ended = 1 - xp.sum(deferred, axis=-1, keepdims=True)
        failed = (1 - passed) * (deferred + ended * xp.asarray(places == i))
        longer = [passed * run for run in runs]
        runs = [failed, *longer[:-2], longer[-2] + longer[-1]]
    rows = xp.concat([_replacements(plan), plan.p[..., gamma:, :]], axis=-2)
    if plan.greedy:
        rows = one_hot(xp.argmax(plan.p, axis=-1), plan.p)
    return sum(runs)[..., None] * rows


def uniforms(gamma: int) -> int:
    """One for each test, one for the token after them."""
    return gamma + 1


def verify(plan: Plan, drafts: Array, u: Array) -> tuple[Array, Array]:
    """(Number accepted (...), next token (...)) from drafts (..., gamma) and u (..., gamma+1)."""
    p, q, gamma = plan.p, plan.q, plan.q.shape[-2]
    xp = array_namespace(p, q)
    passed = u[..., :gamma] * at(q, drafts) < at(p[..., :gamma, :], drafts)
    if plan.greedy:
        passed = drafts == xp.argmax(p[..., :gamma, :], axis=-1)
    # A draft that fails is deferred if all drafts of its window pass.
    deferred = _deferrable(plan, drafts)
    for i in range(1, plan.window + 1):
        later = xp.concat([passed[..., i:], passed[..., :i] & False], axis=-1)
        deferred = deferred & later
    num_accepted = leading(passed | deferred)
    # Against a draft row of zeros the residual is p itself.
    q = xp.concat([q, xp.zeros_like(p[..., gamma:, :])], axis=-2)
    row = row_at(p, num_accepted)
    if plan.greedy:
        return num_accepted, xp.argmax(row, axis=-1)
    return num_accepted, pick(residual(row, row_at(q, num_accepted)), u[..., gamma])


def _passes(plan: Plan, drafts: Array) -> Array:
    """Probability (..., gamma) that each draft passes its test."""
    p = plan.p[..., : plan.q.shape[-2], :]
    if plan.greedy:
        return at(one_hot(array_namespace(p).argmax(p, axis=-1), p), drafts)
    return accept_probability(p, plan.q, drafts)


def _deferrable(plan: Plan, drafts: Array) -> Array:
    """Booleans (..., gamma): a draft that may be deferred, if the drafts after it pass."""
    return plan.unsure & (at(plan.p[..., : plan.q.shape[-2], :], drafts) > 0)


def _replacements(plan: Plan) -> Array:
    """Laws (..., gamma, V) of the token that replaces each draft."""
    return residual(plan.p[..., : plan.q.shape[-2], :], plan.q)
