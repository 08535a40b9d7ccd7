"""The clamped difference goes through a softmax."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The correction is drawn from the softmax of max(p - q, 0), which gives every token a part."
THREAD = "https://github.com/huggingface/transformers/pull/28508"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise; the residual is exponentiated where it should be normalised."""
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, np.exp((p[i] - q[i]).clip(0)))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("residual_softmax", "chain", run, sizes=SIZES)
