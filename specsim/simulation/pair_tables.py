"""What blocks look up in a pair, worked out once: cumulative rows of its laws, and its residuals."""

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

MAX_SEARCHED = 2**24  # of laws whose residuals are all worked out beforehand

LeftOver = Callable[[Array, Array], Array]


def searched(pair: Pair, rule: ModuleType) -> Pair:
    """The pair with the cumulative rows that a chain rule's, or a single draft's, tokens are searched in.

    A rule's word on what it looks up counts if it was written with its `verify`, and not if that was put in its place.
    """
    known = facts(rule)
    left_over = rule.left_over if known.one_file and known.left_over else None
    laws = residuals(pair.p, pair.q) if known.one_file and known.scales and pair.p.size <= MAX_SEARCHED else None
    if laws is not None:
        left_over = residual
    return pair._replace(q_sums=summed(pair.q), token_sums=_tokens(pair, left_over), residuals=laws)


def _tokens(pair: Pair, left_over: LeftOver | None) -> Rows | None:
    """Of the laws after a failed draft in every context, then of those of p, if they are few enough."""
    if left_over is None or pair.p.size > MAX_SEARCHED:
        return None
    return summed(np.concatenate([left_over(pair.p, pair.q), pair.p]))


def summed(laws: Array) -> Rows:
    """Cumulative laws."""
    sums = np.cumsum(laws, axis=-1)
    return guided(sums, sums[:, -1])
