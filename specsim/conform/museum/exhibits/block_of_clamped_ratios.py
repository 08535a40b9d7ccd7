"""Block verification with the wrong test."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = (
    "The longest prefix is kept whose product of clamped ratios passes a coin of its own, with tokenwise corrections."
)
THREAD = "https://github.com/vllm-project/vllm-ascend/issues/7807"
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Let later positions pass after one that failed, without the weights that would allow it."""
    weight, n = 1.0, 0
    for i, x in enumerate(drafts):
        weight *= min(1.0, p[i, x] / q[i, x])
        if random.random() < weight:
            n = i + 1
    return n, draw(random, p[-1] if n == len(drafts) else residual(p[n], q[n]))


subject = chain(__name__, run)
