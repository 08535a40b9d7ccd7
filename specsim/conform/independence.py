"""Whether rows of large batches are independent of each other, by frequencies.

All rows are alike, and each emits one of two texts, equally likely. Of independent rows, those that stand `lag` places
apart agree half of the time, and the agreements at one lag are as independent as coins: so are those of rows that are
as far from the first as others from the last. Two rows that share a coin agree more often.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

from specsim.types import Array

# Lags that are looked at; rows that share a random number are next to each other, or a power of two apart, or so.
LAGS = 256


class Shared(NamedTuple):
    """Pairs of rows that agree too often, or too rarely."""

    words: str  # which pairs
    pairs: int
    agreeing: int
    surprise: float  # probability of something as unlikely, all pairs that are looked at together


def dependence(tiles: list[Array]) -> Shared:
    """The pairs of rows that are the least likely to be independent; each tile holds 0 or 1 for every row of a call.

    Examples
    --------
    >>> import numpy as np
    >>> coins = np.random.default_rng(0).integers(0, 2, size=1000)
    >>> dependence([coins]).surprise > 0.01
    True
    >>> dependence([np.repeat(coins[:500], 2)]).words
    'rows 1 apart'
    """
    looks = list(_pairs(tiles))
    found = min(looks, key=lambda look: look.surprise)
    return found._replace(surprise=min(found.surprise * len(looks), 1.0))


def _pairs(tiles: list[Array]) -> Iterator[Shared]:
    """How many pairs agree, at each lag and from both ends."""
    for lag in range(1, min(LAGS, min(map(len, tiles)) - 1) + 1):
        yield _counted(f"rows {lag} apart", [tile[lag:] == tile[:-lag] for tile in tiles])
    yield _counted("rows from both ends", [(tile == tile[::-1])[: len(tile) // 2] for tile in tiles])


def _counted(words: str, agree: list[Array]) -> Shared:
    pairs, agreeing = sum(map(len, agree)), int(sum(one.sum() for one in agree))
    # Hoeffding's inequality, for both sides.
    surprise = min(2 * math.exp(-2 * pairs * (agreeing / pairs - 0.5) ** 2), 1.0)
    return Shared(words, pairs, agreeing, surprise)
