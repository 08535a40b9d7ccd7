"""Independent draws from q, with replacement.

Law.         Pr[x_1..x_K] = prod_k q(x_k);  Pr[all in H] = q(H)^K.
Randomness.  u[k] draws candidate k.
Cost.        O(V) for the shared cdf, O(K V) comparisons.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, pick
from specsim.types import Array


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Return candidates (..., K) from q (..., V) and uniforms u (..., K)."""
    return pick(q[..., None, :], u)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Return the probability of the ordered tuple drafts (..., K)."""
    return array_namespace(q).prod(at(q[..., None, :], drafts), axis=-1)


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Return the probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    return inside(xp.sum(xp.where(members, q, 0), axis=-1), num_drafts)


def inside(q_mass: Array, num_drafts: int) -> Array:
    """Return the probability that every candidate lies in a set of draft mass q_mass.

    It is q_mass^K by squaring: fewer operations on full-vocabulary rows than K products, and ``**``
    of an array of Fractions would loop over its entries in Python.
    """
    # Bit by bit of K, the lowest first: `square` is q_mass^(2^bit), and `result` the product of the
    # squares whose bits were set, None before the first.
    result, square, bits_left = None, q_mass, num_drafts
    while bits_left:
        if bits_left & 1:
            result = square if result is None else result * square
        bits_left >>= 1
        if bits_left:
            square = square * square
    return result


def uniforms(num_drafts: int) -> int:
    """Return the number of uniforms: one for each candidate."""
    return num_drafts
