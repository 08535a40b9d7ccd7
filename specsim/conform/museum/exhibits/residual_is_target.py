"""After a rejection the target is drawn from as it is."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The correction is drawn from the target's law, and not from what of it the draft leaves over."
THREAD = "https://github.com/ShopeeLLM/Spec-RL/issues/14"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise; on rejection draw from p."""
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, p[i])
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("residual_is_target", "chain", run, sizes=SIZES)
