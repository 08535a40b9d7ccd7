"""A candidate that was drawn twice is tested once."""

from typing import Any

from specsim.conform.museum._frames import recursive, step
from specsim.types import Array

WRONG = "Equal candidates are merged before the test, which takes the rest for independent draws from q."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Recursive rejection over distinct candidates, residuals as for all of them."""
    return recursive(p, q, list(dict.fromkeys(int(x) for x in drafts)), random)


subject = step(__name__, run, sizes=(2, 3))
