"""Increasing rows in which numbers are looked up: from a guide, by bisection in what it leaves.

A guide (Chen and Asau 1974) cuts the range of a row into equal cells, and says for each where its numbers begin. What
is looked up is known to lie in a window of so many entries, as many as the fullest cell of all rows needs: a few where
entries are spread evenly, and never more than the row has. Bounds of cells are dyadic, so rounding, which keeps the
order of products, keeps every number in its window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base.arrays import array_namespace, is_exact
from specsim.types import Array

TOGETHER = 2**16  # entries of rows that are worked on together: what a cache holds


class Rows(NamedTuple):
    """R increasing rows of n entries, flat; arrays are of one library."""

    values: Array  # (R n,)
    top: Array  # (R,) the range of a row: cell g of G begins at g/G of it
    first: Array  # (R G,) where the window of a cell begins; empty: without a guide, at 0
    window: Array  # its length says how many entries a window has


def guided(values: Array, top: Array) -> Rows:
    """Rows (R, n), each with more than its top, or it itself, at its end; of Fractions there is no guide."""
    count, size = values.shape
    flat = values.reshape(-1)
    if is_exact(values):
        return Rows(flat, top, np.zeros(0, dtype=np.int32), np.zeros(size, dtype=np.int8))
    cells = 1 << (size - 1).bit_length()
    passed, some = np.empty((count, cells + 1), dtype=np.int32), max(1, TOGETHER // size)
    for here in (slice(at, at + some) for at in range(0, count, some)):
        passed[here] = np.minimum(_passed(values[here], top[here, None], cells), size - 1)  # the last one is beyond all
    window = int((passed[:, 1:] - passed[:, :-1]).max(initial=0)) + 1
    first = np.minimum(passed[:, :-1], size - window)
    return Rows(flat, top, first.reshape(-1), np.zeros(window, dtype=np.int8))


def _passed(values: Array, top: Array, cells: int) -> Array:
    """How many entries of each row are at most g/cells of its top, g = 0, ..., cells."""
    bound = np.arange(cells + 2) / cells * top
    cell = np.ceil(np.minimum(values / top * cells, cells)).astype(np.int64)  # up to rounding: the first bound ..
    cell -= (cell > 0) & (np.take_along_axis(bound, np.maximum(cell - 1, 0), axis=-1) >= values)
    cell += np.take_along_axis(bound, cell, axis=-1) < values  # .. that is not below the entry; one more where none is
    row = np.arange(len(values))[:, None] * (cells + 2)
    fill = np.bincount((row + cell).reshape(-1), minlength=len(values) * (cells + 2)).reshape(len(values), -1)
    return fill[:, :-1].cumsum(axis=-1)


def entries(flat: Array, place: Array) -> Array:
    """flat[place], for places that are there: in NumPy by `take`, in JAX without looking for places from the end."""
    if type(flat) is np.ndarray:
        return flat.take(place)
    return flat.at[place.astype("uint32")].get(mode="clip")


def count_up_to(rows: Rows, row: Array, share: Array) -> Array:
    """How many entries of a row are at most `share` (in [0, 1]) of its top; the last one not counted."""
    xp, size = array_namespace(rows.values, row), rows.values.shape[0] // rows.top.shape[0]
    begin, bound, cells = row * size, share * entries(rows.top, row), rows.first.shape[0] // rows.top.shape[0]
    place = begin
    if cells:
        cell = xp.astype(share * cells, row.dtype)
        cell = xp.where(cell < cells, cell, cells - 1)
        place = begin + entries(rows.first, row * cells + cell)
    left = rows.window.shape[0]
    while left > 1:  # the first entry above the bound is one of so many from `place` on
        half = left // 2
        place = place + half * xp.astype(entries(rows.values, place + (half - 1)) <= bound, place.dtype)
        left -= half
    return place - begin
