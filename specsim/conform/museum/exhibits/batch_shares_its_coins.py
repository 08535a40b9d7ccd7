"""A coin is drawn for a position, and serves all rows of the batch."""

from typing import Any

from specsim.conform.museum._frames import batches, tokenwise
from specsim.types import Array

WRONG = "The coins of a batch lack an axis: every row is tested with the same ones, so that its texts hang together."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "batches"


def rows(p: Array, q: Array, drafts: Array, random: Any) -> list[tuple[int, int]]:
    """Test row after row, tokenwise, with coins that are drawn once."""
    coins = [random.random() for _ in drafts[0]]
    triples = zip(p, q, drafts, strict=True)
    return [tokenwise(*row, random, accepts=lambda p, q, i, x, _: coins[i] * q[i, x] < p[i, x]) for row in triples]


subject = batches(__name__, rows)
