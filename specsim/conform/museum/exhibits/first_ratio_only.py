"""Every draft after the first is kept without a test."""

from typing import Any

from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "Only the first draft's ratio is tested: the others are kept with it."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Accept the whole block by the ratio of its first draft."""
    x = drafts[0]
    if random.random() * q[0, x] <= p[0, x]:
        return len(drafts), random.choice(p.shape[1], p=p[-1])
    rest = (p[0] - q[0]).clip(0)
    return 0, random.choice(p.shape[1], p=rest / rest.sum())


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("first_ratio_only", "chain", run)
