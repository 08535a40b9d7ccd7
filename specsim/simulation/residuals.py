"""Laws (above p - below q)+ of every context, for all weights above and below at once: their masses, and draws.

All that a rule leaves of the target has this form: where p' has it, so has (a p' - b q)+. A token is in it where q/p is
less than above/below. So with the tokens of a context in the order of q/p, a mass is two cumulative sums, found by
bisection. A draw inverts the cdf in the order of the token ids, as `pick` does: a wavelet tree (Grossi, Gupta and
Vitter 2003) halves the ids until a piece is left, and says for the first k tokens in the order of q/p how many of them
lie in the left half, and their masses.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base.arrays import array_namespace, positive_part
from specsim.simulation.rows import TOGETHER, Rows, count_up_to, entries, guided
from specsim.types import Array

PIECE = 32  # ids whose excess is summed one by one
CELLS = 2**24  # of all levels of all trees: beyond, none are made


class Residuals(NamedTuple):
    """S contexts of V tokens, ids filled up to N, a power of two times the ids of a piece; L levels of trees."""

    keys: Rows  # (S, V+1): q/(p+q) in increasing order; above it all tokens outside the support of p
    p_mass: Array  # (S (V+1),) of the first k tokens in that order
    q_mass: Array
    left: Array  # (L, S, N): of the first k tokens of a node, k = 1, 2, ..., how many are in its left half
    p_left: Array  # their masses
    q_left: Array
    p: Array  # (S N,) the laws, filled up with 0
    q: Array


class Mass(NamedTuple):
    """(above p - below q)+ of some contexts: above and below, in how many tokens it is, and their sum."""

    above: Array
    below: Array
    tokens: Array
    total: Array


def residuals(p: Array, q: Array) -> Residuals | None:
    """The tables of laws p, q (S, V), exact if they are; None if there is no room for them."""
    count, vocab = p.shape
    size = PIECE
    while size < vocab:
        size *= 2
    levels = (size // PIECE).bit_length() - 1
    if count * size * max(levels, 1) > CELLS:
        return None
    none = np.zeros((count, size - vocab), dtype=np.int64).astype(p.dtype)
    p, q = (np.concatenate([w, none], axis=-1) for w in (p, q))
    keys, p_mass, q_mass = (np.zeros((count, vocab + 1), dtype=p.dtype) for _ in range(3))
    left = np.empty((levels, count, size), dtype=np.int32)
    p_left, q_left = (np.empty(left.shape, dtype=p.dtype) for _ in range(2))
    some = max(1, TOGETHER // size)
    for here in (slice(at, at + some) for at in range(0, count, some)):
        order = _sorted(p[here], q[here], keys[here], p_mass[here], q_mass[here])
        _halved(order, p[here], q[here], left[:, here], p_left[:, here], q_left[:, here])
    top = np.ones(count, dtype=np.int64).astype(p.dtype)
    p, q, p_mass, q_mass = (w.reshape(-1) for w in (p, q, p_mass, q_mass))
    return Residuals(guided(keys, top), p_mass, q_mass, left, p_left, q_left, p, q)


def _sorted(p: Array, q: Array, keys: Array, p_mass: Array, q_mass: Array) -> Array:
    """Write the order of q/p, and the masses in it; returns the ids in it."""
    some, vocab = p > 0, keys.shape[-1] - 1
    key = np.where(some, q, 2) / np.where(some, p + q, 1)  # 2: outside the support of p, or no token
    order = np.argsort(key, axis=-1)
    keys[:, :vocab], keys[:, vocab] = np.take_along_axis(key, order[:, :vocab], axis=-1), 3
    for w, total in ((p, p_mass), (q, q_mass)):
        np.cumsum(np.take_along_axis(w, order[:, :vocab], axis=-1), axis=-1, out=total[:, 1:])
    return order


def _halved(order: Array, p: Array, q: Array, left: Array, p_left: Array, q_left: Array) -> None:
    """Write the levels of the trees, from the ids (S, N) in the order of q/p."""
    count, size = order.shape
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(size), order.shape), axis=-1)
    rank += np.arange(count)[:, None] * size
    order, p, q = (order.reshape(-1), *(np.take_along_axis(w, order, axis=-1).reshape(-1) for w in (p, q)))
    for level in range(len(left)):
        nodes = (count, 1 << level, size >> level)
        place = np.sort(rank.reshape(nodes), axis=-1)
        here = (order.take(place) & (nodes[-1] // 2)) == 0
        np.cumsum(here, axis=-1, out=left[level].reshape(nodes))
        for w, total in ((p, p_left), (q, q_left)):
            np.cumsum(w.take(place) * here, axis=-1, out=total[level].reshape(nodes))


def mass(known: Residuals, row: Array, above: Array, below: Array) -> Mass:
    """(above p - below q)+ in the contexts `row`, summed; above is positive."""
    tokens = count_up_to(known.keys, row, above / (above + below))
    place = row * (known.p_mass.shape[0] // known.keys.top.shape[0]) + tokens
    return Mass(above, below, tokens, above * entries(known.p_mass, place) - below * entries(known.q_mass, place))


def draw(known: Residuals, row: Array, law: Mass, u: Array) -> Array:
    """The token that `pick` draws at u from a law of some tokens."""
    xp, (levels, count, size) = array_namespace(u), known.left.shape
    above, below, tokens, total = law
    bound, before, first, node = u * total, 0 * total, 0 * row, size
    flat = [xp.reshape(w, (-1,)) for w in (known.left, known.p_left, known.q_left)]
    for level in range(levels):
        node //= 2
        place = (level * count + row) * size + first + tokens - 1
        there = xp.astype(entries(flat[0], place), tokens.dtype)
        over = above * entries(flat[1], place) - below * entries(flat[2], place)
        right = (there == 0) | ((before + over <= bound) & (there < tokens))
        before = xp.where(right, before + over, before)
        first = xp.where(right, first + node, first)
        tokens = xp.where(right, tokens - there, there)
    place = (row * size + first)[:, None] + xp.arange(size >> levels, dtype=row.dtype)
    over = above[:, None] * entries(known.p, place) - below[:, None] * entries(known.q, place)
    sums = before[:, None] + xp.cumulative_sum(positive_part(over), axis=-1)
    inside = xp.sum(xp.astype(sums <= bound[:, None], row.dtype), axis=-1)
    last = xp.sum(xp.astype(sums < sums[:, -1:], row.dtype), axis=-1)  # rounding must not lead beyond it
    return first + xp.where(inside < last, inside, last)
