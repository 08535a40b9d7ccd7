"""Laws (above p - below q)+ of every context, for all weights above and below at once: their masses, and draws.

All that a rule leaves of the target has this form: if p' has it, so has (a p' - b q)+.

Sums: a token is in the support where q/p < above/below. So sort the tokens of a context by q/p: the support is the
first k tokens, and the sum is above P_k - below Q_k, with cumulative sums P and Q in that order. Bisection finds k.

Draws: a draw inverts the cdf in the order of the token ids, as `pick` does. A wavelet tree (Grossi, Gupta and Vitter
2003) halves the ids until a piece is left. For the first k tokens in the order of q/p it says how many of them lie in
the left half of the ids, and their masses of p and q: enough to choose a half, and to go on in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base.arrays import array_namespace, positive_part
from specsim.simulation.rows import TOGETHER, Rows, count_up_to, entries, guided
from specsim.types import Array

# Ids in a leaf of a whole wavelet tree: their excess is summed one by one.
PIECE = 16
# Entries of all levels of all trees, for three arrays that take 320 MiB: trees lack the lowest levels that would need
# more, so that their leaves are longer. Tables of which one level is larger are not made.
CELLS = 2**24


class Residuals(NamedTuple):
    """Tables of S contexts with V tokens; ids are padded to N = PIECE times a power of two; L levels of wavelet trees.

    ``keys`` (S, V+1): q/(p+q) in increasing order; tokens outside the support of p come last. ``p_mass``, ``q_mass``
    (S (V+1),): masses of the first k tokens in that order, k = 0, 1, .... ``left`` (L, S, N): how many of the first k
    tokens of a node, k = 1, 2, ..., lie in its left half; ``p_left``, ``q_left``: their masses. ``p``, ``q`` (S N,):
    the laws, padded with 0.
    """

    keys: Rows
    p_mass: Array
    q_mass: Array
    left: Array
    p_left: Array
    q_left: Array
    p: Array
    q: Array


class Mass(NamedTuple):
    """(above p - below q)+ of a batch of contexts: the weights, the number of tokens in its support, and its sum."""

    above: Array
    below: Array
    tokens: Array
    total: Array


def residuals(p: Array, q: Array) -> Residuals | None:
    """The tables of laws p, q (S, V), exact for exact laws; None if one level would be larger than `CELLS`."""
    # Pad the ids to a power of two of pieces.
    count, vocab = p.shape
    size = PIECE
    while size < vocab:
        size *= 2
    if count * size > CELLS:
        return None
    levels = min((size // PIECE).bit_length() - 1, CELLS // (count * size))
    padding = np.zeros((count, size - vocab), dtype=np.int64).astype(p.dtype)
    p, q = (np.concatenate([w, padding], axis=-1) for w in (p, q))
    # Fill the tables, as many contexts at a time as a cache holds.
    keys, p_mass, q_mass = (np.zeros((count, vocab + 1), dtype=p.dtype) for _ in range(3))
    left = np.empty((levels, count, size), dtype=np.int32)
    p_left, q_left = (np.empty(left.shape, dtype=p.dtype) for _ in range(2))
    step = max(1, TOGETHER // size)
    for here in (slice(at, at + step) for at in range(0, count, step)):
        order = _sort_by_ratio(p[here], q[here], keys[here], p_mass[here], q_mass[here])
        _build_levels(order, p[here], q[here], left[:, here], p_left[:, here], q_left[:, here])
    top = np.ones(count, dtype=np.int64).astype(p.dtype)
    p, q, p_mass, q_mass = (w.reshape(-1) for w in (p, q, p_mass, q_mass))
    return Residuals(guided(keys, top), p_mass, q_mass, left, p_left, q_left, p, q)


def _sort_by_ratio(p: Array, q: Array, keys: Array, p_mass: Array, q_mass: Array) -> Array:
    """Write the keys q/(p+q) in increasing order and the masses in this order; return the ids in this order."""
    in_support, vocab = p > 0, keys.shape[-1] - 1
    # Key 2 lies above all others: tokens outside the support of p, and padding.
    key = np.where(in_support, q, 2) / np.where(in_support, p + q, 1)
    order = np.argsort(key, axis=-1)
    keys[:, :vocab], keys[:, vocab] = np.take_along_axis(key, order[:, :vocab], axis=-1), 3
    for w, total in ((p, p_mass), (q, q_mass)):
        np.cumsum(np.take_along_axis(w, order[:, :vocab], axis=-1), axis=-1, out=total[:, 1:])
    return order


def _build_levels(order: Array, p: Array, q: Array, left: Array, p_left: Array, q_left: Array) -> None:
    """Write the levels of the trees, from the ids (S, N) in the order of q/p."""
    # The rank of each id in the order of q/p, and p and q in that order.
    count, size = order.shape
    rank = np.empty_like(order)
    np.put_along_axis(rank, order, np.broadcast_to(np.arange(size), order.shape), axis=-1)
    rank += np.arange(count)[:, None] * size
    order, p, q = (order.reshape(-1), *(np.take_along_axis(w, order, axis=-1).reshape(-1) for w in (p, q)))
    # A node of a level holds size >> level consecutive ids: take them by rank, and count those in the left half.
    for level in range(len(left)):
        nodes = (count, 1 << level, size >> level)
        place = np.sort(rank.reshape(nodes), axis=-1)
        is_left = (order.take(place) & (nodes[-1] // 2)) == 0
        np.cumsum(is_left, axis=-1, out=left[level].reshape(nodes))
        for w, total in ((p, p_left), (q, q_left)):
            np.cumsum(w.take(place) * is_left, axis=-1, out=total[level].reshape(nodes))


def mass(tables: Residuals, row: Array, above: Array, below: Array) -> Mass:
    """(above p - below q)+ in the contexts `row`, with its sum; above is positive."""
    # q/p < above/below exactly where q/(p+q) < above/(above+below): this many tokens are in the support.
    tokens = count_up_to(tables.keys, row, above / (above + below))
    place = row * (tables.p_mass.shape[0] // tables.keys.top.shape[0]) + tokens
    return Mass(above, below, tokens, above * entries(tables.p_mass, place) - below * entries(tables.q_mass, place))


def draw(tables: Residuals, row: Array, law: Mass, u: Array) -> Array:
    """The token that `pick` draws at u from (above p - below q)+ in the contexts `row`; its support is not empty."""
    xp, (levels, count, size) = array_namespace(u), tables.left.shape
    above, below, tokens, total = law
    # The node holds the ids from `first` on, `tokens` of them in the support; ids before it have mass `before`.
    bound, before, first, node = u * total, 0 * total, 0 * row, size
    flat = [xp.reshape(w, (-1,)) for w in (tables.left, tables.p_left, tables.q_left)]
    # Go down: to the right half if the left one has no token of the support, or ends at or below the bound.
    for level in range(levels):
        node //= 2
        place = (level * count + row) * size + first + tokens - 1
        there = xp.astype(entries(flat[0], place), tokens.dtype)
        over = above * entries(flat[1], place) - below * entries(flat[2], place)
        right = (there == 0) | ((before + over <= bound) & (there < tokens))
        before = xp.where(right, before + over, before)
        first = xp.where(right, first + node, first)
        tokens = xp.where(right, tokens - there, there)
    # In the piece that is left, sum id by id.
    place = (row * size + first)[:, None] + xp.arange(size >> levels, dtype=row.dtype)
    over = above[:, None] * entries(tables.p, place) - below[:, None] * entries(tables.q, place)
    sums = before[:, None] + xp.cumulative_sum(positive_part(over), axis=-1)
    inside = xp.sum(xp.astype(sums <= bound[:, None], row.dtype), axis=-1)
    # Rounding must not lead beyond the last id with a mass.
    last = xp.sum(xp.astype(sums < sums[:, -1:], row.dtype), axis=-1)
    return first + xp.where(inside < last, inside, last)
