"""A later position may pass after one that failed."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw, residual
from specsim.types import Array

WRONG = (
    "It keeps drafts behind a position whose own test failed; block verification weighs prefixes so that this is right."
)
THREAD = "https://github.com/vllm-project/vllm/pull/46781"
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Verify as a block (Sun et al. 2025, arXiv:2403.10444)."""
    weights, n = [1.0], 0
    for i, x in enumerate(drafts):
        weight = min(1.0, weights[-1] * p[i, x] / q[i, x])
        weights.append(weight)
        passes = weight
        if i + 1 < len(drafts):
            left = (weight * p[i + 1] - q[i + 1]).clip(0).sum()
            passes = left / (left + 1 - weight) if left > 0 else float(weight == 1)
        if random.random() < passes:
            n = i + 1
    return n, draw(
        random,
        p[-1] if n == len(drafts) else residual(weights[n] * p[n], q[n]),
    )


subject = chain(__name__, run)
