"""The bonus rows of a batch are gathered with an index that does not move."""

from typing import Any

from specsim.conform.museum._frames import batches, tokenwise
from specsim.types import Array

WRONG = "The bonus tokens of a batch all come from its first row's last law."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "pairs"


def rows(p: Array, q: Array, drafts: Array, random: Any) -> list[tuple[int, int]]:
    """Test row after row, tokenwise; look the bonus up in row 0."""
    return [tokenwise(*row, random, bonus=lambda _: p[0, -1]) for row in zip(p, q, drafts, strict=True)]


subject = batches(__name__, rows)
