"""The coin that rejected also draws the correction."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, place, residual
from specsim.types import Array

WRONG = "The coin of the test is used again to draw the correction, though a rejection has made it large."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise; invert the residual's distribution function at the coin that rejected."""
    for i, x in enumerate(drafts):
        u = random.random()
        if u * q[i, x] >= p[i, x]:
            return i, place(u, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


subject = chain(__name__, run)
