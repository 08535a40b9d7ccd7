"""Every candidate sees the whole target."""

from typing import Any

from specsim.conform.museum._frames import step
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = "Each of several candidates is tested with p/q, though the rejection of an earlier one has used up part of p."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Test each with the same ratio; correct once."""
    for x in drafts:
        if random.random() * q[x] < p[x]:
            return int(x)
    return draw(random, residual(p, q))


subject = step(__name__, run, sizes=(2,))
