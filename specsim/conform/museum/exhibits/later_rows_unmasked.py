"""A mask covers the first row only."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, residual, warped
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import Array

WRONG = (
    "The filter that forbids tokens (top-k here, a grammar in the thread) is put on the first position, and "
    "the rows after it go unmasked."
)
THREAD = "https://github.com/vllm-project/vllm/pull/54442"
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Filter the first row; only scale the others."""
    scaled = warped(p, SamplingParams(temperature=sampling_params.temperature))
    p, q = np.concatenate([warped(p[:1], sampling_params), scaled[1:]]), warped(q, sampling_params)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("later_rows_unmasked", "chain", run, sizes=SIZES, warps=True)
