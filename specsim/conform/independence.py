"""Whether rows of large batches are independent of each other, by frequencies.

All rows are alike, and each emits one of two texts, equally likely. Of independent rows, those that stand `lag` places
apart agree half of the time, and the agreements at one lag are as independent as coins: so are those of rows that are
as far from the first as others from the last. Two rows that share a coin agree more often.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from specsim.types import Array

# Lags that are looked at; rows that share a random number are next to each other, or a power of two apart, or so.
LAGS = 256
# Probability that rows of one call agree by chance as much more often, or more rarely, than rows of different calls.
CHANCE = 1e-3
# Surprise of frequencies that vary from call to call, in standard deviations of the sum of their squares.
VARYING = 8.0


class Shared(NamedTuple):
    """Pairs of rows that agree too often, or too rarely."""

    words: str  # which pairs
    pairs: int
    agreeing: int
    surprise: float  # probability of something as unlikely, all pairs that are looked at together
    across: float  # share of such pairs that agree where the two rows are of different calls

    @property
    def is_of_one_call(self) -> bool:
        """Whether rows of different calls are not like that: then no law of single rows explains it."""
        gap = self.agreeing / self.pairs - self.across
        # Hoeffding's inequality for either share.
        return self.pairs * gap**2 / 2 > math.log(2 / CHANCE)


def dependence(tiles: list[Array]) -> Shared:
    """The pairs of rows that are the least likely to be independent; each tile holds 0 or 1 for every row of a call.

    Examples
    --------
    >>> import numpy as np
    >>> coins = np.random.default_rng(0).integers(0, 2, size=1000)
    >>> dependence([coins]).surprise > 0.01
    True
    >>> dependence([np.repeat(coins[:500], 2)]).words
    'row i and row i + 1'
    """
    looks = list(_pairs(tiles))
    found = min(looks, key=lambda look: look.surprise)
    return found._replace(surprise=min(found.surprise * len(looks), 1.0))


def _pairs(tiles: list[Array]) -> Iterator[Shared]:
    """How many pairs agree, at each lag and from both ends."""
    turned = [*tiles[1:], tiles[0]]
    for lag in range(1, min(LAGS, min(map(len, tiles)) - 1) + 1):
        across = [one[lag:] == other[:-lag] for one, other in zip(tiles, turned, strict=True)]
        yield _counted(f"row i and row i + {lag}", [tile[lag:] == tile[:-lag] for tile in tiles], across)
    across = [one == other[::-1] for one, other in zip(tiles, turned, strict=True)]
    yield _counted("row i and row -i", [(tile == tile[::-1])[: len(tile) // 2] for tile in tiles], across)


def _counted(words: str, agree: list[Array], across: list[Array]) -> Shared:
    pairs, agreeing = sum(map(len, agree)), int(sum(one.sum() for one in agree))
    # Hoeffding's inequality, for both sides.
    surprise = min(2 * math.exp(-2 * pairs * (agreeing / pairs - 0.5) ** 2), 1.0)
    return Shared(words, pairs, agreeing, surprise, float(np.mean([one.mean() for one in across])))


def varies(calls: Sequence[Sequence[Hashable]]) -> bool:
    """Whether the answers of rows vary more from call to call than those of independent rows; each call has the same.

    The variance of a frequency over independent rows is at most f (1 - f) / n, whatever the law of each. So the sum of
    squared deviations, over that, has the expectation m - 1 over m calls at most, and about a chi-squared law.

    Examples
    --------
    >>> varies([[0] * 100, [1] * 100, [0] * 100, [1] * 100]), varies([[0, 1] * 50] * 4)
    (True, False)
    """
    rows, free = len(calls[0]), len(calls) - 1
    for answer in set(calls[0]).union(*calls[1:]):
        shares = np.array([Counter(call)[answer] / rows for call in calls])
        f = shares.mean()
        square = float(((shares - f) ** 2).sum() * rows / (f * (1 - f))) if f < 1 else 0.0
        if square - free > VARYING * math.sqrt(2 * free):
            return True
    return False
