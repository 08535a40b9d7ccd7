"""Tables of a pair that blocks look up, computed once: cumulative rows of its laws, and its residuals."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import numpy as np

from specsim.base.arrays import residual
from specsim.discover import facts
from specsim.simulation.residuals import residuals
from specsim.simulation.rows import Rows, guided
from specsim.simulation.toys.pair import Pair
from specsim.types import Array

# Entries of p up to which tables are computed: 128 MiB of float64 a table of this size.
MAX_SEARCHED = 2**24

LeftOver = Callable[[Array, Array], Array]


def searched(pair: Pair, rule: ModuleType) -> Pair:
    """The pair with the cumulative rows in which a chain rule's, or a single draft's, tokens are searched.

    A rule's `left_over` and `scales` are trusted only if they come from the same module as its `verify`: a replaced
    `verify` may behave differently.
    """
    known = facts(rule)
    # A rule with `scales` decides by residuals of p and q, and draws from (p - q)+ after a failed draft.
    tables, left_over = None, None
    if known.one_file and known.scales and pair.p.size <= MAX_SEARCHED:
        tables = residuals(pair.p, pair.q)
    # Other rules name the law after a failed draft themselves.
    if tables is not None:
        left_over = residual
    elif known.one_file and known.left_over:
        left_over = rule.left_over
    return pair._replace(q_sums=summed(pair.q), token_sums=_token_rows(pair, left_over), residuals=tables)


def _token_rows(pair: Pair, left_over: LeftOver | None) -> Rows | None:
    """Cumulative laws (2S, V) after a failed draft in every context, then of p; None if unknown or too large."""
    if left_over is None or pair.p.size > MAX_SEARCHED:
        return None
    return summed(np.concatenate([left_over(pair.p, pair.q), pair.p]))


def summed(laws: Array) -> Rows:
    """Cumulative laws, as rows that can be searched."""
    sums = np.cumsum(laws, axis=-1)
    return guided(sums, sums[:, -1])
