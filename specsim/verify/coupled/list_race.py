"""K races, a draft from each: the token is the first to arrive at rates p in any of them.

Law.         E^1..E^K independent races of V exponential variates, shared. Draft k is argmin
             E^k_i/q_i: K draws from q. The token is argmin_i min_k E^k_i/p_i, of law p whatever q
             is.
Theorem.     T37, parts 1 and 5.
Acceptance.  sum_y p_y - K E[n_y(E) m_y(E)^(K-1)], E the time at which y wins, n_y and m_y sums of
             exponentials: y is not drafted in the race that it wins, nor in another one. Rational
             for rational laws. At least sum_y K/(sum_i max(p_i/p_y, q_i/q_y) + (K - 1)/p_y), the
             list matching lemma.
Randomness.  K races: K V variates, by position in the text, draft and token, never used again.
Cost.        O(K V); the acceptance O(V^K).
Paper.       Rowan, Phan, Khisti, Gumbel-max list sampling, arXiv:2506.05632.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from specsim.base.arrays import array_namespace
from specsim.types import Array
from specsim.verify.coupled import race
from specsim.verify.coupled._race import by_rows, first, mean, plus, times, together

DRAFTS: Literal["iid"] = "iid"
EXACT = True
THEOREM = "T37"
PAPER = "arXiv:2506.05632"


def races(num_drafts: int) -> int:
    """How many races of V variates both sides read."""
    return num_drafts


def propose(q: Array, e: Array, num_drafts: int) -> Array:
    """Drafts (..., K) from q (..., V) and variates e (..., K, V)."""
    return first(q[..., None, :], e)


def verify(p: Array, drafts: Array, e: Array) -> Array:
    """Token (...) from p (..., V) and variates e (..., K, V), whatever the drafts (..., K) are."""
    return first(p, array_namespace(p, e).min(e, axis=-2))


def hits(p: Array, q: Array, num_drafts: int) -> Array:
    """P(the token is y, and was drafted) (..., V)."""
    return race.hits(p, q, 1) if num_drafts == 1 else by_rows(_hit, p, q, num_drafts)


def bound(p: Array, q: Array, num_drafts: int) -> Array:
    """Lower bound (...) on the acceptance: the list matching lemma."""
    xp, both = array_namespace(p, q), together(p, q)
    is_hit = both > 0
    # sum_i max(p_i/p_y, q_i/q_y) + (K - 1)/p_y.
    rate = 1 / xp.where(is_hit, both, 1) + (num_drafts - 1) / xp.where(is_hit, p, 1)
    return xp.sum(xp.where(is_hit, num_drafts / rate, 0 * p), axis=-1)


def _hit(p: list[Any], q: list[Any], y: int, num_drafts: int) -> Any:
    """P(the token is y, and was drafted), from rows of p and q.

    Let x be the variate of y, of mean 1, in the race that it wins: there each other token i has a
    variate above (p_i/p_y) x. With probability n_y(x) y wins that race and is not its draft. With
    probability m_y(x) it does not lose to another race, and is not the draft of that one, either:
    P(hit) = p_y - K E[n_y(x) m_y(x)^(K-1)].

    In another race y has the variate s x, s > 1. It is the draft if each i has a variate above
    max(p_i/p_y, s q_i/q_y) x. Between breakpoints of s that has probability
    exp(-(fixed + slope s) x), whose integral over s is a sum of exponentials again.
    """
    # p_i/p_y and q_i/q_y of the others.
    others = [(p[i] / p[y], q[i] / q[y]) for i in range(len(p)) if i != y]
    # n_y: y is first at rates p, less y is first at rates p and q.
    in_race = plus([(sum(a for a, _ in others), 1), (sum(max(a, b) for a, b in others), -1)])
    # Minus the integral over s. At a breakpoint the second number of a maximum becomes the larger.
    ends = sorted({a / b for a, b in others if b > 0 and a > b and a / b < math.inf})
    starts, hit = [1 + 0 * p[y], *ends], []
    for k, s in enumerate(starts):
        fixed = sum((a for a, b in others if b == 0 or a / b > s), 0 * s)
        slope = 1 + sum((b for a, b in others if b > 0 and a / b <= s), 0 * s)
        hit.append((fixed + slope * s, -1 / slope))
        if k + 1 < len(starts):
            hit.append((fixed + slope * starts[k + 1], 1 / slope))
    # m_y: nothing in the other race is before x, less y is its draft.
    missed = plus([(1 + sum(a for a, _ in others), 1), *hit])
    for _ in range(num_drafts - 1):
        in_race = times(in_race, missed)
    return p[y] - num_drafts * mean(in_race)
