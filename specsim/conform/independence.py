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
    """Agreement of pairs of rows that stand in one relation, as one row and the next.

    `words` name the relation; `agreeing` of the `pairs` agree. `surprise` bounds the probability
    that independent rows agree as much more, or less, than half of the time. `across` is the share
    of agreeing pairs where the two rows stand in this relation, but are of different calls.
    """

    words: str
    pairs: int
    agreeing: int
    surprise: float
    across: float

    @property
    def is_of_one_call(self) -> bool:
        """Whether rows of one call agree more or less often than rows of different calls.

        Then no law of single rows explains it.
        """
        gap = self.agreeing / self.pairs - self.across
        # Hoeffding's inequality for either share.
        return self.pairs * gap**2 / 2 > math.log(2 / CHANCE)


def dependence(tiles: list[Array]) -> Shared:
    """Return the relation whose pairs of rows are least likely to be independent.

    A tile (n,) holds 0 or 1 for every row of a call; all tiles have one length. `surprise` of the
    result is for the search over all relations.

    Examples
    --------
    >>> import numpy as np
    >>> coins = np.random.default_rng(0).integers(0, 2, size=1000)
    >>> dependence([coins]).surprise > 0.01
    True
    >>> dependence([np.repeat(coins[:500], 2)]).words
    'row i and row i + 1'
    """
    relations = list(_agreements(tiles))
    least_likely = min(relations, key=lambda relation: relation.surprise)
    # Union bound.
    return least_likely._replace(surprise=min(least_likely.surprise * len(relations), 1.0))


def _agreements(tiles: list[Array]) -> Iterator[Shared]:
    """Yield the agreement of rows `lag` places apart, for each lag, and of mirrored rows."""
    # Beside each call another one, for pairs across calls.
    calls = list(zip(tiles, [*tiles[1:], tiles[0]], strict=True))

    largest_lag = min(LAGS, min(map(len, tiles)) - 1)
    for lag in range(1, largest_lag + 1):
        agree = [tile[lag:] == tile[:-lag] for tile in tiles]
        across = [tile[lag:] == other[:-lag] for tile, other in calls]
        yield _counted(f"row i and row i + {lag}", agree, across)

    # Each pair (i, -i) of one call once; across calls (i, -i) and (-i, i) are two pairs.
    agree = [(tile == tile[::-1])[: len(tile) // 2] for tile in tiles]
    across = [tile == other[::-1] for tile, other in calls]
    yield _counted("row i and row -i", agree, across)


def _counted(words: str, agree: list[Array], across: list[Array]) -> Shared:
    """Return how many pairs agree, and how surprising that is of independent rows.

    `agree` and `across` hold booleans for every pair, of one call and across calls.
    """
    pairs, agreeing = sum(map(len, agree)), int(sum(tile.sum() for tile in agree))
    # Hoeffding's inequality, for both sides.
    surprise = min(2 * math.exp(-2 * pairs * (agreeing / pairs - 0.5) ** 2), 1.0)
    share_across = float(np.mean([tile.mean() for tile in across]))
    return Shared(words, pairs, agreeing, surprise, share_across)


def varies(calls: Sequence[Sequence[Hashable]]) -> bool:
    """Return whether answers vary more from call to call than those of independent rows.

    Each call has the same rows. The variance of a frequency over independent rows is at most f (1 -
    f) / n, whatever the law of each. So the sum of squared deviations, over that, has the
    expectation m - 1 over m calls at most, and about a chi-squared law.

    Examples
    --------
    >>> varies([[0] * 100, [1] * 100, [0] * 100, [1] * 100]), varies([[0, 1] * 50] * 4)
    (True, False)
    """
    rows, degrees = len(calls[0]), len(calls) - 1
    for answer in set(calls[0]).union(*calls[1:]):
        shares = np.array([Counter(call)[answer] / rows for call in calls])
        f = shares.mean()
        if f == 1:
            continue
        # A chi-squared law has the mean `degrees` and the variance 2 `degrees`.
        chi_squared = float(((shares - f) ** 2).sum() * rows / (f * (1 - f)))
        if chi_squared - degrees > VARYING * math.sqrt(2 * degrees):
            return True
    return False
