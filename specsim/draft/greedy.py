"""Greedy: the K - 1 likeliest tokens of q, and one drawn from the rest of q.

Law.         x_1, ..., x_{K-1} are the tokens of largest q (the first, on ties); x_K ~ q without
             them, renormalised. Tokens of q = 0 are never candidates: once the support of q is used
             up, its last token repeats. Pr[all in H] = [x_1, ..., x_{K-1} in H] q_K(H), where q_K
             is the law of x_K, and [...] is 1 if the condition holds and else 0.
Randomness.  u[K-1] draws x_K. The other uniforms are not read.
Cost.        O(K V).
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, pick
from specsim.draft.without_replacement import without
from specsim.types import Array


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Return candidates (..., K) from q (..., V) and uniforms u (..., K)."""
    top, rest = split(q, num_drafts)
    last = pick(rest, u[..., -1])
    # u may have more rows than q: the sum gives the top tokens the shape of the last one.
    top = [token + 0 * last for token in top]
    return array_namespace(last).stack([*top, last], axis=-1)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Return the probability of the ordered tuple drafts (..., K)."""
    top, rest = split(q, num_drafts)
    # An entry of a row of Fractions is a 0-d array; multiplied by 1 it is a number.
    result = 1 * at(rest, drafts[..., -1])
    for k, token in enumerate(top):
        result = result * (drafts[..., k] == token)
    return result


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Return the probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    top, rest = split(q, num_drafts)
    result = xp.sum(xp.where(members, rest, 0), axis=-1)
    for token in top:
        result = result * at(members, token)
    return result


def uniforms(num_drafts: int) -> int:
    """Return the number of uniforms: as many as candidates, of which the last is read."""
    return num_drafts


def split(q: Array, num_drafts: int) -> tuple[list[Array], Array]:
    """Return the K - 1 top tokens, each (...), and the law (..., V) of the last candidate."""
    top = []
    for _ in range(num_drafts - 1):
        top.append(array_namespace(q).argmax(q, axis=-1))
        q = without(q, top[-1])
    return top, q
