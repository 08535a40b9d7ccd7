"""The optimum for greedy drafts, in closed form: all of p on the tokens sure to be drafted, min(p, d) on the others.

d is the law of the last draft. With H the sure tokens and those with p < d, Pr[all in H] = d(H), and
1 + p(H) - d(H) = p(sure) + sum_rest min(p, d): no lossless rule hits more often (T03, 1). The rule `greedy_draft` does
so (T12). A law of the draft chosen: min(p, d) outside, p on the sure tokens, and what is left on the likeliest.
"""

from __future__ import annotations

from specsim.base import arrays
from specsim.base.arrays import array_namespace
from specsim.bounds.certified import Optimum
from specsim.bounds.schemes import _prefix
from specsim.types import Array
from specsim.verify.step import greedy_draft


def value(p: Array, q: Array, num_drafts: int) -> Array:
    """The optimal acceptance (...) of broadcast rows p, q (..., V)."""
    return greedy_draft.acceptance(greedy_draft.prepare(arrays.wide(p), arrays.wide(q), num_drafts))


def optimum(p: Array, q: Array, num_drafts: int) -> Optimum:
    """The value, the set that proves it and the law that attains it."""
    xp = array_namespace(p, q)
    plan = greedy_draft.prepare(arrays.wide(p), arrays.wide(q), num_drafts)
    best, (p, last, _) = greedy_draft.acceptance(plan), plan.last
    if num_drafts == 1:
        return _prefix.exact(best, p < q, q)
    accepted = xp.where(plan.top | (p < last), p, last)
    refused = 1 - xp.sum(accepted, axis=-1, keepdims=True)
    winners = accepted + refused * arrays.one_hot(xp.argmax(q, axis=-1), accepted)
    return _prefix.exact(best, plan.top | (p < last), winners)
