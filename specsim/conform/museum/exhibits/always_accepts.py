"""The coin is the constant 0."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "A platform without the random function gets the coin 0, which accepts every draft."
THREAD = "https://github.com/vllm-project/vllm-ascend/issues/13730"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise with a coin that never rejects."""
    for i, x in enumerate(drafts):
        if 0.0 * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("always_accepts", "chain", run, sizes=SIZES)
