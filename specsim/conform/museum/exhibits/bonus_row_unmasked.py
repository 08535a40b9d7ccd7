"""The last row has no mask."""

from typing import Any

from specsim.conform.museum._frames import chain, tokenwise
from specsim.types import Array

WRONG = (
    "A grammar's mask covers the rows of the drafts; the bonus token after a block that was kept whole is drawn from "
    "the whole vocabulary."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "structured"


def run(p: Array, q: Array, drafts: Array, random: Any, *, mask: Array | None) -> tuple[int, int]:
    """Test tokenwise under the mask."""
    held = p if mask is None else p * mask / (p * mask).sum(axis=1, keepdims=True)
    return tokenwise(held, q, drafts, random, bonus=lambda masked: p[-1])


subject = chain(__name__, run, masks=True)
