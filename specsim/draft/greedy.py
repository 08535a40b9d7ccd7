"""Greedy: the K - 1 likeliest tokens of q, and one drawn from the rest of q.

Law.         x_1, ..., x_{K-1} are the tokens of largest q (the first, on ties); x_K ~ q without
             them, renormalised. Tokens of q = 0 are never candidates: once the support of q is used
             up, its last token repeats. Pr[all in H] = [x_1, ..., x_{K-1} in H] sum_H q_K, where
             q_K is the law of x_K.
Randomness.  u[K-1] draws x_K. The others are not read.
Cost.        O(K V).
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace, at, pick
from specsim.draft.without_replacement import without
from specsim.types import Array


def draw(q: Array, u: Array, num_drafts: int) -> Array:
    """Candidates (..., K) from q (..., V) and uniforms u (..., K)."""
    top, rest = split(q, num_drafts)
    last = pick(rest, u[..., -1])
    return array_namespace(last).stack([*(token + 0 * last for token in top), last], axis=-1)


def probability(q: Array, drafts: Array, num_drafts: int) -> Array:
    """Probability of the ordered tuple drafts (..., K)."""
    top, rest = split(q, num_drafts)
    result = 1 * at(rest, drafts[..., -1])
    for k, token in enumerate(top):
        result = result * (drafts[..., k] == token)
    return result


def within(q: Array, members: Array, num_drafts: int) -> Array:
    """Probability that every candidate lies in the set with indicator members (..., V)."""
    xp = array_namespace(q)
    top, rest = split(q, num_drafts)
    result = xp.sum(xp.where(members, rest, 0), axis=-1)
    for token in top:
        result = result * at(members, token)
    return result


def uniforms(num_drafts: int) -> int:
    """The number of uniforms: as many as candidates, of which one is read."""
    return num_drafts


def split(q: Array, num_drafts: int) -> tuple[list[Array], Array]:
    """The K - 1 top tokens (...), and the law (..., V) of the last candidate."""
    top = []
    for _ in range(num_drafts - 1):
        top.append(array_namespace(q).argmax(q, axis=-1))
        q = without(q, top[-1])
    return top, q
