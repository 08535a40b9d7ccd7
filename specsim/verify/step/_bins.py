"""Tokens pooled into bins by p/q, from which the optimal rule plans when a sort of the vocabulary is too slow."""

from __future__ import annotations

import math

import numpy as np
from array_api_compat import device, is_numpy_array, is_torch_array

from specsim.base.arrays import array_namespace, is_exact
from specsim.types import Array

# Tokens of a long NumPy row worked on at a time: temporaries stay in cache.
CHUNK = 1 << 14
# Bits of the fraction of a float64, and the bias of its exponent.
DIGITS, BIAS = 52, 1023
# All bits of a float64 but its sign.
UNSIGNED = np.int64(2**63 - 1)
# All tokens with p/q < 2^-32 share the first bin: together they have at most that much of p.
LOWEST = 32
# The finest grid allowed is 2^-14, 2^14 bins an octave.
FINEST = 14


def pooled(p: Array, q: Array, ratio: Array, limit: int, grid: float) -> tuple[Array, Array, Array, Array]:
    """Each token's bin and q times the bin's p/q (..., V); each bin's masses of p and q (..., bins).

    Every octave of p/q is cut into 2^b equal bins, 2^-b <= grid, so a float64 shows its bin in its
    leading bits; 2^-32 and `limit` are where the bins end.
    """
    # The bin of each token; empty bins are dropped where they would cost Fractions.
    steps, size = _size(limit, grid)
    place = _place(ratio, steps, size)
    if is_exact(ratio):
        used, place = np.unique(place, return_inverse=True)
        size = len(used)
    # The p/q of each bin as a whole, 0 where q has nothing.
    p_bin, q_bin = (sums(w, place, size) for w in (p, q))
    xp = array_namespace(p)
    has_draft = q_bin > 0
    mean = xp.where(has_draft, p_bin / xp.where(has_draft, q_bin, 1), 0)
    return place, q * xp.take_along_axis(mean, place, axis=-1), p_bin, q_bin


def pooled_row(p: Array, q: Array, limit: int, grid: float) -> tuple[Array, Array, Array, Array]:
    """Results of `pooled` for one long NumPy row of float64, computed in pieces."""
    steps, size = _size(limit, grid)
    place, (p_bin, q_bin), _ = binned(p, q, LOWEST, steps, size)
    mean = np.divide(p_bin, q_bin, out=np.zeros(size), where=q_bin > 0)
    out = mean.take(place)
    return place, np.multiply(q, out, out=out), p_bin, q_bin


def binned(p: Array, q: Array, lowest: int, steps: int, size: int) -> tuple[Array, Array, float]:
    """Bins of the tokens of one NumPy row, masses of p and q in each bin (2, size), and the least entry, or 0.

    There are 2^steps bins an octave. The first one ends at p/q = 2^-lowest; the last one holds all
    larger ratios, q = 0 included. Each piece is summed by itself: many equal numbers added one after
    the other would be off by 1e-11.
    """
    place, ratio = np.empty(len(p), dtype=np.int64), np.empty(min(len(p), CHUNK))
    masses, least = np.zeros((2, size)), 0.0
    shift, before = np.int64(DIGITS - steps), np.int64((BIAS - lowest << steps) - 1)
    # Where q = 0 the ratio is inf or nan: both go to the last bin.
    with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
        for i in range(0, len(p), CHUNK):
            a, b = (w[i : i + CHUNK].astype(np.float64, copy=False) for w in (p, q))
            piece = place[i : i + CHUNK]
            # The leading bits are the bin; -0.0 and nan may have a sign, which is cleared.
            bits = np.divide(a, b, out=ratio[: len(a)]).view(np.int64)
            np.right_shift(np.bitwise_and(bits, UNSIGNED, out=bits), shift, out=piece)
            np.subtract(piece, before, out=piece)
            np.minimum(np.maximum(piece, 0, out=piece), size - 1, out=piece)
            masses += (np.bincount(piece, a, size), np.bincount(piece, b, size))
            least = min(least, a.min(), b.min())
    return place, masses, least


def _size(limit: int, grid: float) -> tuple[int, int]:
    """Number of bits b, for 2^b bins an octave, and the number of bins."""
    if not 2.0**-FINEST <= grid <= 1:
        raise ValueError(f"grid is {grid}; it must lie in [2^-{FINEST}, 1]")
    steps = math.ceil(-math.log2(grid))
    return steps, ((LOWEST + (limit - 1).bit_length()) << steps) + 2


def _place(ratio: Array, steps: int, size: int) -> Array:
    """Bin of each ratio: 0 below 2^-LOWEST, size - 1 at the other end."""
    xp = array_namespace(ratio)
    if is_exact(ratio):
        edge = np.arange(size - 1)
        edges = 2.0 ** ((edge >> steps) - LOWEST) * (1 + (edge % 2**steps) / 2**steps)  # all exact
        return np.searchsorted(edges.astype(object), ratio, side="right")
    integer, digits, bias = (xp.int64, DIGITS, BIAS) if ratio.dtype == xp.float64 else (xp.int32, 23, 127)
    leading = (ratio.view(integer) >> (digits - steps)) - ((bias - LOWEST << steps) - 1)
    return xp.clip(leading, 0, size - 1)


def sums(w: Array, place: Array, size: int) -> Array:
    """Sum of w (..., V) over the tokens of each place (..., size)."""
    xp, batch = array_namespace(w), w.shape[:-1]
    # NumPy: one count over all rows, each row with cells of its own.
    if is_numpy_array(w):
        rows = math.prod(batch)
        first_cell = size * np.arange(rows).reshape(-1, 1)
        cells = (first_cell + place.reshape(rows, -1)).ravel() if batch else place
        if not is_exact(w):
            return np.bincount(cells, w.ravel(), rows * size).reshape(*batch, size)
        out = np.zeros(rows * size, dtype=object)
        np.add.at(out, cells, w.ravel())
        return out.reshape(*batch, size)
    # Torch and JAX: scattered sums.
    out = xp.zeros((*batch, size), dtype=w.dtype, device=device(w))
    if is_torch_array(w):
        return out.scatter_add(-1, place, w)
    return out.at[(*np.ix_(*map(np.arange, w.shape))[:-1], place)].add(w)
