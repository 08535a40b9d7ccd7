"""Drafts of a lookup are kept with the target's probability."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "It has no q, and draws no draft; a one-hot draft is kept with probability p(x) and taken out of p otherwise."
THREAD = "https://github.com/vllm-project/vllm/pull/16899"
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test one-hot drafts."""
    for i, x in enumerate(drafts):
        if random.random() > p[i, x]:
            return i, draw(random, np.where(np.arange(p.shape[1]) == x, 0, p[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("lookup_with_probability_p", "chain", run, sizes=SIZES, takes_q=False)
