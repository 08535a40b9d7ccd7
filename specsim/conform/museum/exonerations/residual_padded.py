"""A small number is added where the residual is zero."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "1e-4 is added to every entry of a residual that is zero everywhere; that is so only if p = q, and then "
    "nothing is rejected."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise, guarded against a division by zero."""
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            rest = (p[i] - q[i]).clip(0)
            return i, draw(random, rest if rest.sum() > 0 else rest + 1e-4)
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("residual_padded", "chain", run, sizes=SIZES)
