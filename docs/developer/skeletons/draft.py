"""Own: one draw from q, repeated K times. Of no use, and as short as a scheme can be.

Law.         x_1 ~ q, x_k = x_1;  Pr[all in H] = q(H).
Randomness.  u[0] draws x_1.
Cost.        O(V).
"""

from __future__ import annotations

from array_api_compat import array_namespace

from specsim.base.arrays import at, pick
from specsim.types import Array


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Candidates (..., K) from q (..., V) and uniforms u (..., 1)."""
    first = pick(q, u[..., 0])
    return array_namespace(first).stack([first] * num_drafts, axis=-1)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Probability (...) of the ordered tuple drafts (..., K)."""
    alike = array_namespace(drafts).all(drafts == drafts[..., :1], axis=-1)
    return at(q, drafts[..., 0]) * alike


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Probability (...) that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    return xp.sum(xp.where(members, q, 0), axis=-1)


def uniforms(num_drafts: int) -> int:
    """How many uniforms `draw` reads."""
    return 1
