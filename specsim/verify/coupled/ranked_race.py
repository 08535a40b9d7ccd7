"""One race, several drafts: the first K to arrive at rates q are drafted, the first at rates p is emitted.

Law.         E_1..E_V independent exponential variates, shared. Drafts are the tokens of the K
             smallest E_i/q_i, in that order: draws from q without replacement. The token is argmin
             E_i/p_i, of law p.
Theorem.     T37, parts 1 and 4.
Acceptance.  sum_y sum_{T, |T| < K} c_T/(D_y - sum_T d_i), with D_y = sum_i max(p_i/p_y, q_i/q_y), T
             sets of tokens with d_i = q_i/q_y - p_i/p_y > 0, n of them in all, and c_T = sum_{s<K}
             (-1)^(s-|T|) C(n-|T|, s-|T|).
Randomness.  One race: V variates, by position in the text and token, never used again.
Cost.        O(V K) or a sort; the acceptance O(V^K).
Paper.       Gumbel-top-k drafts under the coupling of arXiv:2408.07978.
"""

from __future__ import annotations

from typing import Any, Literal

from array_api_compat import device

from specsim.base.arrays import array_namespace
from specsim.types import Array
from specsim.verify.coupled import race
from specsim.verify.coupled._race import Sum, arrivals, by_rows, first, mean, plus

DRAFTS: Literal["without_replacement"] = "without_replacement"
EXACT = True
THEOREM = "T37"
PAPER = "arXiv:2408.07978"


def races(num_drafts: int) -> int:
    """How many races of V variates both sides read."""
    return 1


def propose(q: Array, e: Array, num_drafts: int) -> Array:
    """Drafts (..., K) from q (..., V) and variates e (..., 1, V); with the support used up the last repeats."""
    xp = array_namespace(q, e)
    order = xp.argsort(arrivals(q, e[..., 0, :]), axis=-1, stable=True)
    # The place of the last token with weight; later drafts repeat it.
    last = xp.sum(xp.astype(q > 0, xp.int64), axis=-1, keepdims=True) - 1
    places = xp.arange(num_drafts, device=device(q))
    return xp.take_along_axis(order, xp.where(places < last, places, last), axis=-1)


def verify(p: Array, drafts: Array, e: Array) -> Array:
    """Token (...) from p (..., V) and variates e (..., 1, V), whatever the drafts (..., K) are."""
    return first(p, e[..., 0, :])


def hits(p: Array, q: Array, num_drafts: int) -> Array:
    """P(the token is y, and was drafted) (..., V)."""
    return race.hits(p, q, 1) if num_drafts == 1 else by_rows(_hit, p, q, num_drafts)


def bound(p: Array, q: Array, num_drafts: int) -> Array:
    """Lower bound (1 - TV)/(1 + TV) (...), that of one draft."""
    return race.bound(p, q, 1)


def _hit(p: list[Any], q: list[Any], y: int, num_drafts: int) -> Any:
    """P(the token is y, and was drafted): y is first at rates p, and fewer than K precede it at q.

    Let x = E_y. Token i comes after y at rates p if E_i > x p_i/p_y, at rates q if E_i > x q_i/q_y.
    before[s], a sum of exponentials in x (rate -> factor), is the probability that y is first at
    rates p, while s of the tokens so far precede it at rates q.
    """
    before: list[Sum] = [{0 * p[y]: 1 + 0 * p[y]}] + [{} for _ in range(num_drafts - 1)]
    for i in (i for i in range(len(p)) if i != y):
        # i comes after y at rates p with probability exp(-of_p x), at rates p and q with
        # exp(-of_both x).
        of_p, of_q = p[i] / p[y], q[i] / q[y]
        of_both = max(of_p, of_q)
        extended: list[Sum] = []
        for s in range(num_drafts):
            # i comes after y at rates q, too: still s precede it.
            parts = [(rate + of_both, c) for rate, c in before[s].items()]
            # Or i comes after y at rates p alone, and is one of the s that precede it at q.
            if s and of_q > of_p:
                fewer = before[s - 1].items()
                parts += [(rate + of_p, c) for rate, c in fewer]
                parts += [(rate + of_both, -c) for rate, c in fewer]
            extended.append(plus(parts))
        before = extended
    return sum(mean(part) for part in before)
