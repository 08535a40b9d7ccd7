"""Verification is greedy at every temperature."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.types import Array

WRONG = "A draft is kept if it is the target's likeliest token, which is emitted otherwise, at every temperature."
THREAD = "https://github.com/sgl-project/sglang/pull/37134"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Compare with the argmax, and emit it."""
    best = p.argmax(axis=-1)
    num_accepted = next((i for i, x in enumerate(drafts) if x != best[i]), len(drafts))
    return num_accepted, int(best[num_accepted])


subject = chain(__name__, run)
