"""Independent: each candidate is drawn from a draft law of its own.

Law.         Pr[x_1..x_K] = prod_k q_k(x_k);  Pr[all in H] = prod_k q_k(H). The laws q_k are the
             rows of q (..., K, V).
Randomness.  u[k] draws candidate k.
Cost.        O(K V).
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, pick
from specsim.types import Array

# The argument q has a row for each candidate.
PER_DRAFT = True


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Return candidates (..., K) from q (..., K, V) and uniforms u (..., K)."""
    return pick(q, u)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Return the probability of the ordered tuple drafts (..., K)."""
    return array_namespace(q).prod(at(q, drafts), axis=-1)


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Return the probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    q_masses = xp.sum(xp.where(members[..., None, :], q, 0), axis=-1)
    return xp.prod(q_masses, axis=-1)


def uniforms(num_drafts: int) -> int:
    """Return the number of uniforms: one for each candidate."""
    return num_drafts
