"""One race, one draft: drafted is the token that arrives first at rates q, emitted the first at rates p.

Law.         E_1..E_V independent exponential variates, shared. Draft argmin E_i/q_i, token argmin
             E_i/p_i. The token has law p whatever q is, and is the same for every drafter.
Theorem.     T37, parts 1 to 3.
Acceptance.  sum_y 1/sum_i max(p_i/p_y, q_i/q_y) over y that both laws give weight to; at least
             (1 - TV)/(1 + TV), and for two tokens 1 - TV.
Randomness.  One race: V variates, by position in the text and token, never used again.
Cost.        O(V); the acceptance a sort.
Paper.       Daliri, Musco, Suresh, coupling without communication, arXiv:2408.07978.
"""

from __future__ import annotations

from typing import Literal

from specsim.base.arrays import overlap
from specsim.types import Array
from specsim.verify.coupled._race import first, together

DRAFTS: Literal["iid"] = "iid"
COUNTS = (1,)
EXACT = True
THEOREM = "T37"
PAPER = "arXiv:2408.07978"


def races(num_drafts: int) -> int:
    """How many races of V variates both sides read."""
    return 1


def propose(q: Array, e: Array, num_drafts: int) -> Array:
    """Drafts (..., 1) from q (..., V) and variates e (..., 1, V)."""
    return first(q, e[..., 0, :])[..., None]


def verify(p: Array, drafts: Array, e: Array) -> Array:
    """Token (...) from p (..., V) and variates e (..., 1, V), whatever the drafts (..., 1) are."""
    return first(p, e[..., 0, :])


def hits(p: Array, q: Array, num_drafts: int) -> Array:
    """P(the token is y, and was drafted) (..., V)."""
    return together(p, q)


def bound(p: Array, q: Array, num_drafts: int) -> Array:
    """Lower bound (1 - TV)/(1 + TV) (...), the largest for all laws without communication."""
    shared = overlap(p, q)
    return shared / (2 - shared)
