"""Rows come back in the order in which they were worked on."""

from typing import Any

from specsim.conform.museum._frames import batches, tokenwise
from specsim.types import Array

WRONG = "Rows of a batch are sorted before they are verified, and not put back: a text gets the tokens of another."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "batches"


def rows(p: Array, q: Array, drafts: Array, random: Any) -> list[tuple[int, int]]:
    """Begin with the row whose target is the surest."""
    order = sorted(range(len(p)), key=lambda n: -p[n, 0].max())
    return [tokenwise(p[n], q[n], drafts[n], random) for n in order]


subject = batches(__name__, rows)
