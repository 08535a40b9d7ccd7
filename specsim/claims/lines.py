"""The cycle of a row without costs, by a line through other rows of its table.

The line is in the batch or in the length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from specsim.claims.rows import Row

# Least number of other batch sizes that a line in the batch is fitted on.
LEAST_BATCHES = 3
# Least number of lengths of one machine and pair that a line in the length is fitted on.
LEAST_LENGTHS = 2


class Line(NamedTuple):
    """A cycle in the unit of the row's times, the number of rows fitted, and "batch" or "length"."""

    cycle: float
    others: int
    along: str


def line_of(row: Row, rows: Sequence[Row], fit: Sequence[str]) -> Line | None:
    """Return the cycle of a row without costs, from other batches or fitted lengths of its table.

    It is None where the row prints costs, or too few rows are like it.
    """
    if row.tau is None or row.draft is not None or row.verify is not None:
        return None

    # First a line in the batch; then one in the length, on the rows that `fit` names.
    others = [other for other in rows if other.name != row.name and other.tau is not None and other.load is None]
    batches = [other for other in others if other.machine == row.machine]
    if len({other.batch for other in batches}) >= LEAST_BATCHES:
        return Line(_at(row, batches, lambda other: other.batch), len(batches), "batch")
    lengths = [other for other in others if other.name in fit and _same_chain(other, row)]
    if len({other.levels for other in lengths}) >= LEAST_LENGTHS:
        return Line(_at(row, lengths, lambda other: other.levels or 0), len(lengths), "length")
    return None


def _same_chain(other: Row, row: Row) -> bool:
    """True if two rows without costs are chains of one machine and pair at one batch."""
    chains = all(r.draft is None and r.verify is None and r.machine[-1].isdigit() for r in (other, row))
    return chains and other.machine[:-1] == row.machine[:-1] and other.batch == row.batch


def _at(row: Row, others: Sequence[Row], size: Callable[[Row], int]) -> float:
    """The cycle at this row by the line a + k x through the cycles of other rows.

    The line has the least squares of relative errors, with a, k >= 0; x is the `size` of a row.
    """
    from scipy.optimize import nnls

    cycles = np.array([other.tau * other.plain / other.speedup for other in others if other.tau is not None])
    sizes = np.array([[1.0, size(other)] for other in others])
    (fixed, slope), _ = nnls(sizes / cycles[:, None], np.ones(len(others)))
    return float(fixed + slope * size(row))
