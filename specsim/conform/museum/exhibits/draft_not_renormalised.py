"""The second candidate is tested with the first one's law."""

from typing import Any

from specsim.conform.museum._parts import draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "Candidates are drawn without replacement, and tested with q as it was before the first was taken out."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Recursive rejection with one q for all."""
    for x in drafts:
        if random.random() * q[x] <= p[x]:
            return int(x)
        p = residual(p, q)
        p = p / p.sum()
    return draw(random, p)


def subject() -> Subject:
    """One step of several candidates, on NumPy."""
    return Subject("draft_not_renormalised", "step", run, sizes=(2,), scheme="without_replacement")
