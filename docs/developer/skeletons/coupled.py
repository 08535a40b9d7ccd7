"""Own: one race, and drafts that all are its first arrival. Of use for one draft, and as short as a coupling can be.

Law.         E_1..E_V independent exponential variates, shared. Drafts argmin E_i/q_i, token argmin E_i/p_i, of law p.
Theorem.     The first arrival at rates p has law p; both races are won by y if E_i > E_y max(p_i/p_y, q_i/q_y).
Acceptance.  sum_y 1/sum_i max(p_i/p_y, q_i/q_y).
Randomness.  One race: V variates.
Cost.        O(V).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from array_api_compat import array_namespace

from specsim.types import Array

DRAFTS: Literal["iid"] = "iid"  # what the drafts alone are: draws from q
COUNTS = (1,)  # without it: any number of drafts
EXACT = True
THEOREM = "open"  # or the note in proofs/, as "T37"
PAPER = "none"


def races(num_drafts: int) -> int:
    """How many races of V variates both sides read."""
    return 1


def propose(q: Array, e: Array, num_drafts: int) -> Array:
    """The drafter's half: drafts (..., K) from q (..., V) and variates e (..., races, V)."""
    return _first(q, e[..., 0, :])[..., None]


def verify(p: Array, drafts: Array, e: Array) -> Array:
    """The target's half: the token (...) from p (..., V) and the same variates; it must not depend on the drafts."""
    return _first(p, e[..., 0, :])


def hits(p: Array, q: Array, num_drafts: int) -> Array:
    """Probability (..., V) that the token is y and was drafted."""
    xp = array_namespace(p, q)
    both = (p > 0) & (q > 0)
    p_own, q_own = (xp.where(both, w, 1)[..., None] for w in (p, q))
    here, there = p[..., None, :] / p_own, q[..., None, :] / q_own
    return xp.where(both, 1 / xp.sum(xp.where(here > there, here, there), axis=-1), 0 * p * q)


def bound(p: Array, q: Array, num_drafts: int) -> Array:
    """What the hits exceed in all (...): here (1 - TV)/(1 + TV)."""
    xp = array_namespace(p, q)
    shared = xp.sum(xp.where(p < q, p, q), axis=-1)
    return shared / (2 - shared)


def _first(w: Array, e: Array) -> Array:
    """The token that arrives first at rates w; one without weight never does."""
    xp = array_namespace(w, e)
    return xp.argmin(xp.where(w > 0, e / xp.where(w > 0, w, 1), np.inf), axis=-1)
