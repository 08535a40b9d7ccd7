"""One uniform is drawn for all positions."""

from typing import Any

from specsim.conform.museum._frames import chain, tokenwise
from specsim.types import Array

WRONG = "One coin tests every position of a block: a draft that follows an accepted one is accepted too easily."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise, with the same coin everywhere."""
    u = random.random()
    return tokenwise(p, q, drafts, random, accepts=lambda p, q, i, x, _: u * q[i, x] < p[i, x])


subject = chain(__name__, run)
