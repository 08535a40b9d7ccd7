"""Look numbers up in increasing rows: a guide gives a window of entries, bisection searches the window.

A guide (Chen and Asau 1974) cuts the range of a row into equal cells, and stores for each cell the first entry in it.
The number looked up lies in a window of entries from there on. All windows have one length, which the fullest cell of
all rows needs: a few entries where they are spread evenly, and never more than a row has. Bounds of cells are dyadic,
so rounding, which keeps the order of products, keeps every number in its window.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.base.arrays import array_namespace, is_exact
from specsim.types import Array

# Entries of rows that are processed together: 512 KiB of float64, which a cache holds.
TOGETHER = 2**16


class Rows(NamedTuple):
    """R increasing rows of n entries, flat; arrays are of one library.

    ``values`` (R n,): the entries; ``top`` (R,): the range of a row, of which cell g of G begins at g/G; ``first``
    (R G,): where the window of a cell begins (empty without a guide: at 0); ``window``: an array as long as a window,
    so that JAX knows this length when it compiles.
    """

    values: Array
    top: Array
    first: Array
    window: Array


def guided(values: Array, top: Array) -> Rows:
    """The rows (R, n) with a guide, except for Fractions; the last entry of a row is at least its top."""
    count, size = values.shape
    flat = values.reshape(-1)
    if is_exact(values):
        return Rows(flat, top, np.zeros(0, dtype=np.int32), np.zeros(size, dtype=np.int8))
    cells = 2 << (size - 1).bit_length()
    passed, step = np.empty((count, cells + 1), dtype=np.int32), max(1, TOGETHER // size)
    # Entries up to each bound of a cell; the last entry is never passed.
    for here in (slice(at, at + step) for at in range(0, count, step)):
        passed[here] = np.minimum(_passed(values[here], top[here, None], cells), size - 1)
    # The fullest cell decides the length of all windows; the last windows begin earlier, to end with the row.
    window = int((passed[:, 1:] - passed[:, :-1]).max(initial=0)) + 1
    first = np.minimum(passed[:, :-1], size - window)
    return Rows(flat, top, first.reshape(-1), np.zeros(window, dtype=np.int8))


def _passed(values: Array, top: Array, cells: int) -> Array:
    """How many entries of each row are at most g/cells of its top, g = 0, ..., cells."""
    # The first bound that is not below an entry, up to rounding; then corrected by one where rounding missed it.
    bound = np.arange(cells + 2) / cells * top
    cell = np.ceil(np.minimum(values / top * cells, cells)).astype(np.int64)
    cell -= (cell > 0) & (np.take_along_axis(bound, np.maximum(cell - 1, 0), axis=-1) >= values)
    cell += np.take_along_axis(bound, cell, axis=-1) < values
    # Count the entries of each cell, and sum up; entries above the top land in an extra cell, which is dropped.
    row = np.arange(len(values))[:, None] * (cells + 2)
    fill = np.bincount((row + cell).reshape(-1), minlength=len(values) * (cells + 2)).reshape(len(values), -1)
    return fill[:, :-1].cumsum(axis=-1)


def entries(flat: Array, place: Array) -> Array:
    """flat[place] for valid places: in NumPy by `take`, which is fast, in JAX without the code for negative places."""
    if type(flat) is np.ndarray:
        return flat.take(place)
    return flat.at[place.astype("uint32")].get(mode="clip")


def count_up_to(rows: Rows, row: Array, share: Array) -> Array:
    """Number of entries of a row that are at most `share` (in [0, 1]) of its top; the last entry is not counted."""
    xp, size = array_namespace(rows.values, row), rows.values.shape[0] // rows.top.shape[0]
    begin, bound, cells = row * size, share * entries(rows.top, row), rows.first.shape[0] // rows.top.shape[0]
    # The window in which the first entry above the bound lies.
    place = begin
    if cells:
        cell = xp.astype(share * cells, row.dtype)
        cell = xp.where(cell < cells, cell, cells - 1)
        place = begin + entries(rows.first, row * cells + cell)
    # Bisect: the first entry above the bound is one of `left` entries from `place` on.
    left = rows.window.shape[0]
    while left > 1:
        half = left // 2
        place = place + half * xp.astype(entries(rows.values, place + (half - 1)) <= bound, place.dtype)
        left -= half
    return place - begin
