"""The weight of the whole block may exceed 1."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = (
    "The weight of a prefix is a plain product of ratios: one that is too likely for the target makes up for "
    "one that is not."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Verify as a block, without the cap on the weight."""
    gamma, weight = len(drafts), 1.0
    weights, n = [weight], 0
    for i, x in enumerate(drafts):
        weight = weight * p[i, x] / q[i, x]
        weights.append(weight)
        passes = weight
        if i + 1 < gamma:
            left = (weight * p[i + 1] - q[i + 1]).clip(0).sum()
            passes = min(left / (left + 1 - min(weight, 1.0)), 1.0) if left > 0 else min(weight, 1.0)
        if random.random() < min(passes, 1.0):
            n = i + 1
    return n, draw(random, p[-1] if n == gamma else residual(weights[n] * p[n], q[n]))


subject = chain(__name__, run)
