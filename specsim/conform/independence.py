"""Independence of the rows of large batches, by frequencies.

All rows are alike, and each emits one of two texts, equally likely. Independent rows that stand
`lag` places apart agree half of the time, and the agreements at one lag are as independent as
coins. So are the agreements of row i with row -i, counted from the other end. Two rows that share a
coin agree more often.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from specsim.types import Array

# Largest lag that is looked at; rows that share a random number are neighbours, or a power of two
# apart, or so.
LAGS = 256
# Probability that rows of one call agree by chance as much more often, or more rarely, than rows of
# different calls.
CHANCE = 1e-3
# Surprise of frequencies that vary from call to call, in standard deviations of the sum of their
# squares.
VARYING = 8.0


class Shared(NamedTuple):
    """Pairs of rows that agree too often, or too rarely.

    `words` name the pairs; `surprise` is the probability of something as unlikely, over all pairs
    that are looked at. `across` is the share of such pairs that agree where the two rows are of
    different calls.
    """

    words: str
    pairs: int
    agreeing: int
    surprise: float
    across: float

    @property
    def is_of_one_call(self) -> bool:
        """Whether rows of different calls agree less or more often: then no law of single rows explains it."""
        gap = self.agreeing / self.pairs - self.across
        # Hoeffding's inequality for either share.
        return self.pairs * gap**2 / 2 > math.log(2 / CHANCE)


def dependence(tiles: list[Array]) -> Shared:
    """Return the pairs of rows that are least likely to be independent; a tile holds 0 or 1 for every row of a call.

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
    least_likely = min(looks, key=lambda look: look.surprise)
    return least_likely._replace(surprise=min(least_likely.surprise * len(looks), 1.0))


def _pairs(tiles: list[Array]) -> Iterator[Shared]:
    """Yield how many pairs agree, at each lag and from both ends."""
    next_tiles = [*tiles[1:], tiles[0]]
    for lag in range(1, min(LAGS, min(map(len, tiles)) - 1) + 1):
        across = [rows[lag:] == other_rows[:-lag] for rows, other_rows in zip(tiles, next_tiles, strict=True)]
        yield _counted(f"row i and row i + {lag}", [tile[lag:] == tile[:-lag] for tile in tiles], across)
    across = [rows == other_rows[::-1] for rows, other_rows in zip(tiles, next_tiles, strict=True)]
    yield _counted("row i and row -i", [(tile == tile[::-1])[: len(tile) // 2] for tile in tiles], across)


def _counted(words: str, agree: list[Array], across: list[Array]) -> Shared:
    """Return how many pairs agree, and how surprising that is of independent rows."""
    pairs, agreeing = sum(map(len, agree)), int(sum(tile.sum() for tile in agree))
    # Hoeffding's inequality, for both sides.
    surprise = min(2 * math.exp(-2 * pairs * (agreeing / pairs - 0.5) ** 2), 1.0)
    return Shared(words, pairs, agreeing, surprise, float(np.mean([tile.mean() for tile in across])))


def varies(calls: Sequence[Sequence[Hashable]]) -> bool:
    """Return whether the answers of rows vary more from call to call than those of independent rows.

    Each call has the same rows. The variance of a frequency over independent rows is at most f (1 -
    f) / n, whatever the law of each. So the sum of squared deviations, over that, has the
    expectation m - 1 over m calls at most, and about a chi-squared law.

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
