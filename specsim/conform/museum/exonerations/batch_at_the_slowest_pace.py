"""All rows of a batch keep as many drafts as the row that keeps fewest."""

from typing import Any

from specsim.conform.museum._frames import batches, tokenwise
from specsim.types import Array

WRONG = "A row that could keep more is cut where the worst row of its batch ends, after a draft that was accepted."
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def rows(p: Array, q: Array, drafts: Array, random: Any) -> list[tuple[int, int]]:
    """Test every row tokenwise; then cut them all to the shortest."""
    outcomes = [tokenwise(*row, random) for row in zip(p, q, drafts, strict=True)]
    least = min(n for n, _ in outcomes)
    return [(least, token if n == least else row[least]) for row, (n, token) in zip(drafts, outcomes, strict=True)]


subject = batches(__name__, rows)
