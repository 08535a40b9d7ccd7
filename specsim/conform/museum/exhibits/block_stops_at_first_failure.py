"""Block verification that ends where tokenwise rejection would."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = "Block verification ends at the first position that fails, though later ones were to be tried."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Verify as a block, and break."""
    gamma, weight = len(drafts), 1.0
    weights, n = [weight], 0
    for i, x in enumerate(drafts):
        weight = min(1.0, weight * p[i, x] / q[i, x])
        weights.append(weight)
        passes = weight
        if i + 1 < gamma:
            left = (weight * p[i + 1] - q[i + 1]).clip(0).sum()
            passes = left / (left + 1 - weight) if left + 1 - weight > 0 else 1.0
        if random.random() < passes:
            n = i + 1
        else:
            break
    return n, draw(random, p[-1] if n == gamma else residual(weights[n] * p[n], q[n]))


subject = chain(__name__, run)
