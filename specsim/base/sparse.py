"""Laws of a few tokens (specsim.types.Law), and rows over the union of their tokens.

Two laws are checked, and then run on the union of their tokens instead of the vocabulary. Rules and
bounds treat all tokens alike, and a token that both laws lack takes no part in them. So rows over V
tokens are the same problem as rows over the union of their ids, whose width depends on shapes
alone. Where order matters (cdfs, ties) tokens stand in the order of their ids, and so do the places
of the union: the same token comes out. Places left over, where ids coincide, have probability 0 and
come last.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from array_api_compat import is_array_api_obj, is_jax_array, is_numpy_array

from specsim.base import arrays, check
from specsim.base.arrays import array_namespace
from specsim.types import Array, Law


class Union(NamedTuple):
    """Token ids (..., W) of the places of compact rows, ascending; -1 at places left over."""

    ids: Array
    vocab: int


def checked(law: Law, ids_name: str, values_name: str) -> Law:
    """Return the law with ids and values in one library; ValueError names the entry that makes it none."""
    values = check.law(law.values, values_name)
    vocab = check.integer(law.vocab, "vocab", 1) if check.concrete(law.vocab) else law.vocab
    ids = check.tokens(law.ids, ids_name, vocab, values, low=-1)
    if tuple(ids.shape) != tuple(values.shape):
        raise ValueError(
            f"{ids_name} has shape {tuple(ids.shape)} and {values_name} {tuple(values.shape)}; they must be the same"
        )
    if check.concrete(ids) and check.concrete(values):
        xp = array_namespace(values)
        # Unused places have no probability.
        is_misplaced = (ids < 0) & (values != 0)
        if bool(xp.any(is_misplaced)):
            where, entry = check.first_bad(values, is_misplaced)
            raise ValueError(f"{values_name}{where} is {entry} where {ids_name} is -1, which stands for no token")
        # No token is listed twice.
        ascending = xp.sort(ids, axis=-1)
        is_repeated = (ascending[..., 1:] == ascending[..., :-1]) & (ascending[..., 1:] >= 0)
        if bool(xp.any(is_repeated)):
            where, entry = check.first_bad(ascending[..., 1:], is_repeated)
            raise ValueError(f"{ids_name}{where[: where.rindex('[')]} lists token {entry} more than once")
    return Law(ids, values, vocab)


def dense(law: Law, vocab: int) -> Array:
    """Return the law as rows over the vocabulary (..., vocab)."""
    # Unused places write to one column more, which is cut off.
    index = array_namespace(law.values).where(law.ids < 0, vocab, law.ids)
    return _scatter(law.values, index, vocab + 1)[..., :-1]


def rows(p: Any, q: Any, axes: int = 1, *, whole: bool = False) -> tuple[Any, Any, Union | None]:
    """Return the rows of p and q, and the union of their tokens, on whose places two Laws are written.

    Unless both are Laws, rows are dense and there is no union (None). `axes` is the number of
    trailing axes that share one union: 1 for rows, 2 for blocks of rows. `whole` makes two Laws
    dense, too.
    """
    p_law = checked(p, "p.ids", "p.values") if isinstance(p, Law) else None
    q_law = checked(q, "q.ids", "q.values") if isinstance(q, Law) else None
    # Rows stay as they are, and a Law beside them is made dense.
    if p_law is None or q_law is None:
        if p_law is not None:
            p = dense(p_law, _vocabulary(p_law, q, "p", "q"))
        if q_law is not None:
            q = dense(q_law, _vocabulary(q_law, p, "q", "p"))
        return p, q, None
    if whole:
        return dense(p_law, p_law.vocab), dense(q_law, q_law.vocab), None
    return _compact(p_law, q_law, axes)


def _vocabulary(law: Law, other: Any, name: str, name_of_other: str) -> int:
    """Return the number of tokens of rows beside a Law; ValueError if the Law has another vocabulary."""
    vocab = int(check.law(other, name_of_other).shape[-1])
    if check.concrete(law.vocab) and law.vocab != vocab:
        raise ValueError(f"{name} has {law.vocab} tokens and {name_of_other} has {vocab}: the vocabularies differ")
    return vocab


def _compact(p: Law, q: Law, axes: int) -> tuple[Array, Array, Union]:
    """Return rows (..., W) of two Laws over the union of their tokens, which the last `axes` axes share."""
    # Check that the laws fit together.
    if check.concrete(p.vocab) and check.concrete(q.vocab) and p.vocab != q.vocab:
        raise ValueError(f"p has {p.vocab} tokens and q has {q.vocab}: the vocabularies differ")
    check.one_kind(p.values, q.values, p.values, q.values, ("p", "q"))
    if min(w.ids.ndim for w in (p, q)) < axes:
        raise ValueError(f"p and q must have at least {axes} axes, got {tuple(p.ids.shape)} and {tuple(q.ids.shape)}")
    # All ids of both laws in one row, unused ones last.
    xp = array_namespace(p.ids, q.ids)
    batch = check.leading("p and q", *(w.ids.shape[:-axes] for w in (p, q)))
    ids = [xp.broadcast_to(w.ids, (*batch, *w.ids.shape[-axes:])) for w in (p, q)]
    all_ids = xp.concat([xp.reshape(w, (*batch, -1)) for w in ids], axis=-1)
    all_ids = xp.where(all_ids < 0, p.vocab, all_ids)
    # Sort them, number the different ones, and go back: the place of each id in the union.
    order = xp.argsort(all_ids, axis=-1)
    ascending = xp.take_along_axis(all_ids, order, axis=-1)
    is_new = xp.astype(ascending[..., 1:] != ascending[..., :-1], all_ids.dtype)
    number = xp.concat([0 * all_ids[..., :1], xp.cumulative_sum(is_new, axis=-1)], axis=-1)
    places = xp.take_along_axis(number, xp.argsort(order, axis=-1), axis=-1)
    # The ids of the union; places left over hold -1.
    width = all_ids.shape[-1]
    union = _scatter(xp.where(all_ids < p.vocab, all_ids + 1, 0), places, width) - 1
    # The values of each law at its places.
    compact, start = [], 0
    for law, law_ids in zip((p, q), ids, strict=True):
        size = math.prod(law_ids.shape[-axes:])
        place = xp.reshape(places[..., start : start + size], law_ids.shape)
        compact.append(_scatter(xp.broadcast_to(law.values, law_ids.shape), place, width))
        start += size
    return compact[0], compact[1], Union(union, p.vocab)


def _scatter(values: Array, index: Array, width: int) -> Array:
    """Return rows (..., width) that hold `values` (..., k) at `index`, and 0 elsewhere."""
    # Zeros of the kind of `values`: a Fraction's 0 is a Fraction.
    xp, column = array_namespace(values, index), values[..., :1]
    zero = 0 * column if arrays.is_exact(values) else xp.zeros_like(column)
    out = xp.broadcast_to(zero, (*values.shape[:-1], width))
    if is_jax_array(values):
        return xp.put_along_axis(out, index, values, axis=-1, inplace=False)
    if not is_numpy_array(values):
        return xp.scatter(out, -1, index, values)
    out = out.copy()
    np.put_along_axis(out, index, values, axis=-1)
    return out


def places(union: Union | None, drafts: Any, low: int = 0) -> Any:
    """Return drafts (..., n) as places of the union; ValueError for one not in it. -1 stays, if allowed."""
    if union is None:
        return drafts
    ids = union.ids
    if is_numpy_array(ids) and is_array_api_obj(drafts):
        ids = check.like(ids, drafts)
    x = check.tokens(drafts, "drafts", union.vocab, ids, low)
    if x.ndim == 0:
        return x
    check.leading("p, q and drafts", ids.shape[:-1], x.shape[:-1])
    # The place of a token is the number of ids below it.
    xp = array_namespace(x)
    ids = ids[..., None, :]
    place = xp.sum(xp.astype((ids >= 0) & (ids < x[..., None]), x.dtype), axis=-1)
    # Refuse a draft whose place has another token.
    if check.concrete(x) and check.concrete(ids):
        last = ids.shape[-1] - 1
        place = xp.where(place < last, place, last)
        absent = (x >= 0) & (arrays.at(ids, place) != x)
        if bool(xp.any(absent)):
            where, entry = check.first_bad(xp.broadcast_to(x, absent.shape), absent)
            raise ValueError(f"drafts{where} is token {entry}, which its row of q lacks: it cannot have been drafted")
    return xp.where(x < 0, x, place)


def tokens(union: Union | None, places: Array, axes: int = 0) -> Array:
    """Return the token ids at places of the union; the last `axes` axes of places share one row of it."""
    if union is None:
        return places
    ids = check.like(union.ids, places)
    # From (..., W) to (..., 1, 1, W), with `axes` ones.
    shared_ids = ids[(..., *[None] * axes, slice(None))]
    return arrays.at(shared_ids, places)


def law(union: Union | None, values: Array | None) -> Any:
    """Return compact rows as a Law over the tokens of the union; other values as they are."""
    return values if union is None or values is None else Law(union.ids, values, union.vocab)
