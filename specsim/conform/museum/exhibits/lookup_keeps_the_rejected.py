"""A lookup's rejected token can come back."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "A draft from a lookup is kept with probability p(x), and after a rejection the target is drawn from with "
    "x still in it."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test one-hot drafts; do not exclude the rejected one."""
    for i, x in enumerate(drafts):
        if random.random() > p[i, x]:
            return i, draw(random, p[i])
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("lookup_keeps_the_rejected", "chain", run, sizes=SIZES, takes_q=False)
