"""A temperature is written to a copy."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, residual, warped
from specsim.conform.subject import SamplingParams, Subject
from specsim.types import Array

WRONG = (
    "A buffer is converted to another type before it is filled, the copy is dropped, and what was in the "
    "buffer is used as temperature."
)
THREAD = "https://github.com/vllm-project/vllm/pull/42638"
EXPECTED = "convicted"
PROPERTY = "parameters"


def run(p: Array, q: Array, drafts: Array, random: Any, *, sampling_params: SamplingParams) -> tuple[int, int]:
    """Expand the temperature over the rows, into a copy."""
    buffer = np.ones(len(p))
    buffer.astype(np.float32).fill(sampling_params.temperature)  # the filled array is not kept
    p = np.stack([warped(row, sampling_params._replace(temperature=t)) for row, t in zip(p, buffer, strict=True)])
    q = warped(q, sampling_params)
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("converted_buffer_dropped", "chain", run, sizes=SIZES, warps=True)
