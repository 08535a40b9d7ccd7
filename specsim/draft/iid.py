"""Independent draws from q, with replacement.

Law.         Pr[x_1..x_K] = prod_k q(x_k);  Pr[all in H] = q(H)^K.
Randomness.  u[k] draws candidate k.
Cost.        O(V) for the shared cdf, O(K V) comparisons.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, pick
from specsim.types import Array


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Candidates (..., K) from q (..., V) and uniforms u (..., K)."""
    return pick(q[..., None, :], u)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Probability of the ordered tuple drafts (..., K)."""
    return array_namespace(q).prod(at(q[..., None, :], drafts), axis=-1)


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    return inside(xp.sum(xp.where(members, q, 0), axis=-1), num_drafts)


def inside(q_mass: Array, num_drafts: int) -> Array:
    """Probability that every candidate lies in a set of draft mass q_mass.

    It is q_mass^K by squaring, for speed on full-vocabulary rows and because ``**`` of a Fraction
    array is elementwise Python.
    """
    # `result` is the product over the low bits of K that are done; `square` is q_mass^(2^bit).
    result, square, k = None, q_mass, num_drafts
    while k:
        if k & 1:
            result = square if result is None else result * square
        k >>= 1
        if k:
            square = square * square
    return result


def uniforms(num_drafts: int) -> int:
    """The number of uniforms: one per candidate."""
    return num_drafts
