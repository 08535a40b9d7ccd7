"""A candidate that was drawn twice is tested once."""

from typing import Any

from specsim.conform.museum._parts import draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "Equal candidates are merged before the test, which takes the rest for independent draws from q."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Recursive rejection over distinct candidates, residuals as for all of them."""
    for x in dict.fromkeys(int(x) for x in drafts):
        if random.random() * q[x] <= p[x]:
            return x
        p = residual(p, q)
        p = p / p.sum()
    return draw(random, p)


def subject() -> Subject:
    """One step of several candidates, on NumPy."""
    return Subject("duplicates_skipped", "step", run, sizes=(2, 3))
