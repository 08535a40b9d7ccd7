"""Array-generic helpers on the last axis: the few operations every rule is written in.

They run unchanged on NumPy floats, NumPy object arrays of Fraction (exactly), JAX (jit, vmap, grad)
and torch (CPU, CUDA). Inputs are already validated (specsim.base.check): no value raises here.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import array_api_compat
import numpy as np
from array_api_compat import device, is_array_api_obj, is_jax_array, is_torch_array

from specsim.types import Array

# Results made of rows that sum to 1 + 1e-6 exceed their largest value by less than this.
EXCESS = 1e-3
# From so many tokens on, `pick` searches among pieces of 256, then inside one piece.
MANY, _PIECE = 1 << 13, 256
# NumPy searches up to this many rows one by one for a bound; in more rows it compares all entries.
FEW = 8


def array_namespace(*arrays: Array) -> Any:
    """Return the library of the arrays; NumPy's by their type alone, since a look-up takes long.

    NumPy itself has the standard's names, but for one: `argsort` is stable only where asked. Its
    namespace in array_api_compat takes 0.15 s to import.
    """
    for w in arrays:
        if not isinstance(w, (np.ndarray, np.generic)):
            return array_api_compat.array_namespace(*arrays)
    return np


def is_exact(w: Array) -> bool:
    """True if w is an object array (Fractions): no rounding, so guards compare with exact zero."""
    return bool(w.dtype == object)


def noise(w: Array) -> float:
    """Return the mass that rounding can leave where the exact value is 0, for rows that sum to 1."""
    return 0.0 if is_exact(w) else 8 * float(array_namespace(w).finfo(w.dtype).eps)


def wide(w: Array) -> Array:
    """Return w in float64, so that a sum loses nothing; Fractions and JAX arrays keep their type."""
    if type(w) is np.ndarray:
        return w if is_exact(w) else w.astype(np.float64, copy=False)
    xp = array_namespace(w)
    return w if is_jax_array(w) else xp.astype(w, xp.float64, copy=False)


def mass(w: Array) -> Array:
    """Return the sum (...) over the last axis, added up in the type of `wide` without a copy of w."""
    if type(w) is np.ndarray and not is_exact(w):
        return np.add.reduce(w, axis=-1, dtype=np.float64)
    xp = array_namespace(w)
    return xp.sum(w, axis=-1, dtype=None if is_exact(w) or is_jax_array(w) else xp.float64)


def ids(w: Array) -> Array:
    """Return token ids 0..V-1 in the library and on the device of w."""
    if type(w) is np.ndarray:
        return np.arange(w.shape[-1])
    return array_namespace(w).arange(w.shape[-1], device=device(w))


def at(w: Array, token: Array) -> Array:
    """Return w[..., token], leading axes broadcast."""
    xp = array_namespace(w)
    if w.shape[:-1] != token.shape:
        batch = np.broadcast_shapes(w.shape[:-1], token.shape)
        w, token = xp.broadcast_to(w, (*batch, w.shape[-1])), xp.broadcast_to(token, batch)
    if type(w) is np.ndarray:
        return w[(*_grid(token.shape), token)] if token.ndim else w[..., token]
    return along(w, token[..., None])[..., 0]


def row_at(w: Array, i: Array) -> Array:
    """Return w[..., i, :], for i with the leading axes of w (..., n, V)."""
    if type(w) is np.ndarray:
        return w[(*_grid(i.shape), i)] if i.ndim else w[..., i, :]
    index = array_namespace(w, i).broadcast_to(i[..., None, None], (*i.shape, 1, w.shape[-1]))
    return along(w, index, -2)[..., 0, :]


def along(w: Array, i: Array, axis: int = -1) -> Array:
    """Return the entries of w at indices i along an axis; of torch by gather, which is one call of four."""
    xp = array_namespace(w, i)
    return xp.gather(w, axis, i) if is_torch_array(w) else xp.take_along_axis(w, i, axis=axis)


@lru_cache(maxsize=64)
def _grid(shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Return indices of leading axes, for w[(*grid, token)]: three times as fast as take_along_axis."""
    return np.ix_(*(np.arange(n) for n in shape))


def one_hot(token: Array, like: Array) -> Array:
    """Return the point mass at a token, as a row of the same kind as `like`."""
    xp = array_namespace(like)
    hit = ids(like) == token[..., None]
    return xp.where(hit, xp.ones_like(like), xp.zeros_like(like))


def positive_part(w: Array) -> Array:
    """Return max(w, 0)."""
    return array_namespace(w).where(w > 0, w, 0)


def excess(w: Array, q: Array) -> Array:
    """Return max(w - q, 0), exactly 0 where q is larger: computed as w - min(w, q)."""
    return w - array_namespace(w, q).minimum(w, q)


def chosen(take: Array, new: Array, old: Array) -> Array:
    """Return rows of `new` where `take` (..., 1) is true, else of `old`.

    NumPy writes into `new`, so the caller must not use it afterwards.
    """
    can_write = type(new) is np.ndarray and new.dtype == old.dtype and new.shape[:-1] == take.shape[:-1]
    if not (can_write and new.ndim):
        return array_namespace(new).where(take, new, old)
    if not take.all():
        np.copyto(new, old, where=~take)
    return new


def emptied(w: Array, token: Array) -> Array:
    """Return a copy of w (..., V) with 0 at token (...); token -1 stands for none."""
    if type(w) is np.ndarray and token.ndim and w.shape[:-1] == token.shape and (token >= 0).all():
        out = w.copy()
        out[(*_grid(token.shape), token)] = 0
        return out
    return array_namespace(w).where(ids(w) == token[..., None], 0, w)


def overlap(p: Array, q: Array) -> Array:
    """Sum of min(p, q) = 1 - TV."""
    xp = array_namespace(p, q)
    return xp.sum(xp.where(p < q, p, q), axis=-1)


def at_most(value: Array, top: int) -> Array:
    """Return a result cut at `top`, its largest value, which it may exceed as rows exceed sum 1.

    A result far above stays, so that an error does not look like a result: traced rows, which
    cannot be checked, may be no laws.
    """
    if not is_array_api_obj(value) or is_exact(value):
        return value
    return array_namespace(value).where((value > top) & (value < top + EXCESS), top, value)[()]


def quotient(w: Array, by: Array) -> Array:
    """Return w / by of non-negative numbers; a quarter of the largest float where it would overflow, or `by` is 0."""
    if is_exact(w):
        return w / np.where(by > 0, by, 1)
    xp = array_namespace(w, by)
    top = float(xp.finfo(w.dtype).max) / 4
    fits = w < by * top
    return xp.where(fits, w / xp.where(fits, by, 1), top)


def product(w: Array, by: Array) -> Array:
    """Return w * by of non-negative numbers; a quarter of the largest float where it would overflow.

    Infinity would not do: times 0 it is no number.
    """
    if is_exact(by):
        return w * by
    xp = array_namespace(by)
    top = float(xp.finfo(by.dtype).max) / 4
    fits = w <= top / xp.where(by > 1, by, 1)
    return xp.where(fits, w * xp.where(fits, by, 1), top)


def normalize_or(w: Array, fallback: Array) -> Array:
    """Return w / sum(w), or `fallback` in rows whose mass is nothing but rounding."""
    xp = array_namespace(w, fallback)
    total = xp.sum(w, axis=-1, keepdims=True)
    has_mass = total > noise(w)
    return chosen(has_mass, w / xp.where(has_mass, total, 1), fallback)


def residual(p: Array, q: Array) -> Array:
    """Return the law proportional to (p - q)+; p itself where p = q up to rounding."""
    return normalize_or(positive_part(p - q), p)


def accepts(p: Array, q: Array, token: Array, u: Array) -> Array:
    """The test u < p(x)/q(x), without the division: strict, so p(x) = 0 never passes, also at u = 0."""
    return u * at(q, token) < at(p, token)


def leading(passed: Array) -> Array:
    """Return how many entries (...) at the start of the last axis are true, before the first false one."""
    if type(passed) is np.ndarray:
        return np.logical_and.accumulate(passed, axis=-1).sum(-1)
    xp = array_namespace(passed)
    is_leading = xp.cumulative_sum(xp.astype(~passed, xp.int64), axis=-1) == 0
    return xp.sum(xp.astype(is_leading, xp.int64), axis=-1)


def accept_probability(p: Array, q: Array, token: Array) -> Array:
    """Return min(1, p(x)/q(x)); 1 where q(x) <= p(x), 0/0 included (such a token is never drafted)."""
    px, qx = at(p, token), at(q, token)
    xp = array_namespace(px, qx)
    less = px < qx
    return xp.where(less, px / xp.where(less, qx, xp.ones_like(qx)), xp.ones_like(px))


def pick(w: Array, u: Array) -> Array:
    """Return the token drawn from the unnormalised row w by inverting its cdf at u.

    Counts entries with cdf <= u * total. For u in [0, 1) that never reaches a token of zero weight,
    the last one included: u * total < total also after rounding. The sum runs in the wider of the
    two types (u is float64), because a float32 cumulative sum over a real vocabulary is off by
    1e-4. Of many tokens, only those of the piece that the token lies in are summed one by one: a
    GPU takes long for a sum that waits for the one before it.
    """
    xp = array_namespace(w, u)
    sum_dtype = xp.result_type(w.dtype, u.dtype)
    if w.shape[-1] >= MANY and w.shape[:-1] == u.shape and not is_exact(w):
        return _pick_by_pieces(w, u, sum_dtype)
    cdf = xp.cumulative_sum(w, axis=-1, dtype=sum_dtype)
    return _up_to(cdf, u[..., None] * cdf[..., -1:])


def _up_to(cdf: Array, bound: Array) -> Array:
    """Return how many entries (...) of an increasing cdf (..., n) are <= bound (..., 1); 0 for NaN."""
    lead = cdf.shape[:-1]
    # NumPy, a few rows: search each.
    is_plain = type(cdf) is np.ndarray and not is_exact(cdf)
    if is_plain and lead == bound.shape[:-1] and math.prod(lead) <= FEW:
        pairs = zip(cdf.reshape(-1, cdf.shape[-1]), bound.ravel().tolist(), strict=True)
        counts = [row.searchsorted(limit, "right") if limit == limit else 0 for row, limit in pairs]
        return np.array(counts, dtype=np.int64).reshape(lead)[()]
    xp = array_namespace(cdf, bound)
    # Torch: one call, since drafting does little else.
    if is_torch_array(cdf) and cdf.shape[:-1] == bound.shape[:-1]:
        return xp.searchsorted(cdf, bound, right=True)[..., 0]
    return xp.sum(xp.astype(cdf <= bound, xp.int64), axis=-1)


def _pick_by_pieces(w: Array, u: Array, sum_dtype: Any) -> Array:
    """Return the token (...) that `pick` draws from w (..., V) at u (...), by a search in two levels.

    The vocabulary is cut into pieces of _PIECE tokens; masses[k] is the weight of pieces 0..k. The
    bound u sum(w) lies in the piece k with masses[k-1] <= bound < masses[k], so that a piece without
    weight is never chosen. Counted from the start of piece k, whose weight is total(k), the bound is
    total(k) - (masses[k] - bound); a second search finds the token there. All sums have type
    `sum_dtype`.
    """
    xp = array_namespace(w, u)
    # Pieces (..., n, _PIECE), the last one filled up with zeros.
    lead, num_zeros = w.shape[:-1], -w.shape[-1] % _PIECE
    if num_zeros:
        w = xp.concat([w, xp.zeros((*lead, num_zeros), dtype=w.dtype, device=device(w))], axis=-1)
    pieces = xp.reshape(w, (*lead, -1, _PIECE))
    # The piece k, from the cumulative masses of pieces.
    masses = xp.cumulative_sum(xp.sum(pieces, axis=-1, dtype=sum_dtype), axis=-1)
    bound = u[..., None] * masses[..., -1:]
    piece = _up_to(masses, bound)
    # The bound from the start of the piece. Rounding can make it slightly negative, and the search end at
    # a first token without weight. The absolute value is as close to the exact bound, and passes over it.
    cdf = xp.cumulative_sum(row_at(pieces, piece), axis=-1, dtype=sum_dtype)
    beyond_bound = at(masses, piece)[..., None] - bound
    inside = _up_to(cdf, abs(cdf[..., -1:] - beyond_bound))
    # Rounding can lift the bound to the total: the search must not end behind the last token with weight.
    last_with_weight = xp.sum(cdf < cdf[..., -1:], axis=-1, dtype=xp.int64)
    return piece * _PIECE + xp.minimum(inside, last_with_weight)


class Prefixes(NamedTuple):
    """Masses of the first 1..V tokens in increasing order of p/q."""

    order: Array
    p_mass: Array
    q_mass: Array


def prefix_scan(p: Array, q: Array) -> Prefixes:
    """Sort the vocabulary by p/q, and sum both laws along it.

    Last come tokens that the draft never proposes and, in floats, those whose p/q would overflow:
    their mass under q is smaller than the rounding of a sum.
    """
    xp = array_namespace(p, q)
    ceiling = None if is_exact(q) else float(xp.finfo(q.dtype).max) * 2.0**-24
    is_finite = q > 0 if ceiling is None else p < ceiling * q
    ratio = xp.where(is_finite, p / xp.where(is_finite, q, xp.ones_like(q)), xp.zeros_like(p))
    last = 1 + xp.max(ratio, axis=-1, keepdims=True) if ceiling is None else ceiling
    order = xp.argsort(xp.where(is_finite, ratio, last), axis=-1, stable=True)  # `last` stands for infinity
    sums = (xp.cumulative_sum(xp.take_along_axis(wide(w), order, axis=-1), axis=-1) for w in (p, q))
    return Prefixes(order, *sums)
