"""The cycle of a row that prints no cost, from other rows of its table: a line in the batch, or in the length."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from specsim.claims.rows import Row

# Other batch sizes of a table, from which a line in the batch is fitted.
LEAST_BATCHES = 3
# Lengths of one machine and pair that are named to be fitted, from which a line in the length is.
LEAST_LENGTHS = 2


class Line(NamedTuple):
    """A cycle in the unit of the row's times, on how many rows it was fitted, and along what."""

    cycle: float
    others: int
    along: str


def line_of(row: Row, rows: Sequence[Row], fit: Sequence[str]) -> Line | None:
    """Return the cycle of a row that prints none, from the other batches or the fitted lengths of its table."""
    if row.tau is None or row.draft is not None or row.verify is not None:
        return None
    others = [one for one in rows if one.name != row.name and one.tau is not None and one.load is None]
    batches = [one for one in others if one.machine == row.machine]
    if len({one.batch for one in batches}) >= LEAST_BATCHES:
        return Line(_at(row, batches, lambda one: one.batch), len(batches), "batch")
    lengths = [one for one in others if one.name in fit and _same_chain(one, row)]
    if len({one.levels for one in lengths}) >= LEAST_LENGTHS:
        return Line(_at(row, lengths, lambda one: one.levels or 0), len(lengths), "length")
    return None


def _same_chain(one: Row, row: Row) -> bool:
    """Whether two rows that print no cost are chains of one machine and pair at one batch."""
    chains = all(r.draft is None and r.verify is None and r.machine[-1].isdigit() for r in (one, row))
    return chains and one.machine[:-1] == row.machine[:-1] and one.batch == row.batch


def _at(row: Row, others: Sequence[Row], size: Callable[[Row], int]) -> float:
    """The line a + k x of least relative squares through the cycles of other rows, at this row."""
    from scipy.optimize import nnls

    cycles = np.array([one.tau * one.plain / one.speedup for one in others if one.tau is not None])
    sizes = np.array([[1.0, size(one)] for one in others])
    (fixed, each), _ = nnls(sizes / cycles[:, None], np.ones(len(others)))
    return float(fixed + each * size(row))
