"""Recursive rejection without replacement: each draft against what the earlier ones left over of target and draft.

Law.         Draft x_k is kept with probability min(1, r_k(x_k)/q_k(x_k)); r_1 = p, r_{k+1}
             proportional to (r_k - q_k)+; q_1 = q, q_{k+1} is q_k without x_k, renormalised. If
             none is kept, y ~ r_{K+1}.
Theorem.     T09: the output law is p for every p, q and K, also for K beyond the support of q.
Acceptance.  For K = 2, 1 - sum_x (q - p)+(x) sum_v (r_2(v) - q(v)/(1 - q(x)))+, by one sort; for
             larger K the same summed over the drafts before. Equal to the hit probability (a
             rejected token has no residual mass).
Randomness.  u[k] decides draft k; u[K] draws from the last residual.
Cost.        O(K V) time and memory; acceptance O(V^(K-1) log V).
Paper.       Jeon et al., recursive speculative decoding, arXiv:2402.14160; also the step of
             Sequoia, arXiv:2402.12374.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

from specsim.base.arrays import (
    accept_probability,
    accepts,
    array_namespace,
    ids,
    one_hot,
    overlap,
    pick,
    positive_part,
    quotient,
    residual,
    wide,
)
from specsim.draft.without_replacement import without
from specsim.types import Array, NoClosedForm

DRAFTS: Literal["without_replacement"] = "without_replacement"
EXACT = True
THEOREM = "T09"
PROVED = {"lossless": "rrs_without_replacement", "acceptance": "rrs_acceptance"}
PAPER = "arXiv:2402.14160"

# Paths that `acceptance` may sum over: 1 GiB of float64.
MAX_PATHS = 2**27


class Plan(NamedTuple):
    p: Array
    q: Array
    num_drafts: int


def prepare(p: Array, q: Array, num_drafts: int) -> Plan:
    """Target and draft rows (..., V); what is left over depends on the drafts."""
    return Plan(p, q, num_drafts)


def transition(plan: Plan, drafts: Array) -> Array:
    """Law of the token (..., V) given drafts (..., K)."""
    rounds, last = _rounds(plan, drafts)
    law, reached = 0, 1
    for k, (row, draft) in enumerate(rounds):
        accepted = accept_probability(row, draft, drafts[..., k])[..., None]
        law = law + reached * accepted * one_hot(drafts[..., k], row)
        reached = reached * (1 - accepted)
    return law + reached * last


def acceptance(plan: Plan) -> Array:
    """Probability that some draft is kept; NoClosedForm if the sum over drafts would not fit."""
    rows, vocab = math.prod(plan.p.shape[:-1]), plan.p.shape[-1]
    # More drafts than tokens change nothing.
    length = min(plan.num_drafts, vocab) - 1
    if rows * vocab**length > MAX_PATHS:
        raise NoClosedForm(
            f"acceptance of recursive_wor with num_drafts={plan.num_drafts} sums over {rows} x {vocab}^{length} paths, "
            f"more than {MAX_PATHS:.3g}; give fewer rows, drafts or tokens, or count the hits of verify_step"
        )
    return 1 - _all_rejected(plan.p, plan.q, length + 1)


def acceptance_of_two(p: Array, q: Array) -> Array:
    """Probability that one of two drafts is kept, for any number of rows."""
    return 1 - _all_rejected(p, q, min(2, p.shape[-1]))


def uniforms(num_drafts: int) -> int:
    """One test per draft, one residual draw."""
    return num_drafts + 1


def verify(plan: Plan, drafts: Array, u: Array) -> Array:
    """Token (...) from drafts (..., K) and u (..., K+1)."""
    rounds, last = _rounds(plan, drafts)
    token = pick(last, u[..., len(rounds)])
    # The first draft that passes wins, so it is written last.
    for k in reversed(range(len(rounds))):
        accepted = accepts(*rounds[k], drafts[..., k], u[..., k])
        token = array_namespace(token).where(accepted, drafts[..., k], token)
    return token


def _rounds(plan: Plan, drafts: Array) -> tuple[list[tuple[Array, Array]], Array]:
    """Rows (r_k, q_k) of the test of draft k = 1..K, if all before it fail; and r_{K+1}."""
    row, draft, rounds = plan.p, plan.q, []
    for k in range(drafts.shape[-1]):
        rounds.append((row, draft))
        row, draft = residual(row, draft), without(draft, drafts[..., k])
    return rounds, row


def _all_rejected(row: Array, draft: Array, num_drafts: int) -> Array:
    """Probability that num_drafts more drafts all fail, from the rows left over (..., V)."""
    xp = array_namespace(row)
    if num_drafts == 1:
        return 1 - overlap(row, draft)
    lost, after = positive_part(draft - row), residual(row, draft)
    # The next draft is the last: q_2 is draft/(1 - draft(x)) but at
    # x, where nothing of the target is left over.
    if num_drafts == 2:
        # 1 - draft(x) is summed where x is the likeliest token:
        # only there could it vanish by cancellation.
        likeliest = xp.argmax(draft, axis=-1)
        top = ids(draft) == likeliest[..., None]
        others = xp.sum(xp.where(top, 0, draft), axis=-1, keepdims=True)
        others = xp.where(top, others, 1 - draft)
        later = _excess(after, draft, quotient(1 + 0 * draft, xp.where(others > 0, others, 1 + 0 * draft)))
    else:
        later = _all_rejected(after[..., None, :], without(draft[..., None, :], ids(draft)), num_drafts - 1)
    return xp.sum(lost * later, axis=-1)


def _excess(p: Array, q: Array, scale: Array) -> Array:
    """sum_v (p(v) - s q(v))+ for every s in scale (..., n): only tokens with p/q > s count, so one sort serves all."""
    xp = array_namespace(p, q)
    p, q = xp.broadcast_arrays(wide(p), wide(q))
    is_drafted, vocab = q > 0, q.shape[-1]
    ratio = xp.where(is_drafted, quotient(p, q), 0)
    # Where q = 0 the ratio is above all keys; Fractions have no infinity.
    keys = xp.concat([ratio, scale], axis=-1)
    largest = xp.max(keys, axis=-1, keepdims=True) + 1
    keys = xp.concat([xp.where(is_drafted, ratio, largest), scale], axis=-1)
    # Sort ratios and scales together, and sum p and q over what comes before each scale.
    order = xp.argsort(-keys, axis=-1, stable=True)
    place = xp.argsort(order, axis=-1, stable=True)[..., vocab:]

    def above(w: Array) -> Array:
        """Return the sum (..., n) of w over the tokens whose ratio is above each scale."""
        padded = xp.concat([w, xp.zeros_like(scale)], axis=-1)
        sums = xp.cumulative_sum(xp.take_along_axis(padded, order, axis=-1), axis=-1)
        return xp.take_along_axis(sums, place, axis=-1)

    return above(p) - scale * above(q)
