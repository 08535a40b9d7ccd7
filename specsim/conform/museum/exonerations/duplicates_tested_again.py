"""A token that was rejected is tested a second time."""

from typing import Any

from specsim.conform.museum._parts import draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "Two candidates may be equal, and the second is tested although the first was rejected: the residual has "
    "little left for it, and the rule is right."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Recursive rejection over i.i.d. candidates."""
    for x in drafts:
        if random.random() * q[x] <= p[x]:
            return int(x)
        p = residual(p, q)
        p = p / p.sum()
    return draw(random, p)


def subject() -> Subject:
    """One step of several candidates, on NumPy."""
    return Subject("duplicates_tested_again", "step", run, sizes=(2, 3))
