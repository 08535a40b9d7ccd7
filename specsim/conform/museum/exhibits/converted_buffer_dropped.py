"""A temperature is written to a copy."""

import numpy as np

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped
from specsim.conform.subject import SamplingParams
from specsim.types import Array

WRONG = (
    "A buffer is converted to another type before it is filled, the copy is dropped, and what was in the "
    "buffer is used as temperature."
)
THREAD = "https://github.com/vllm-project/vllm/pull/42638"
EXPECTED = "convicted"
PROPERTY = "parameters"


def laws(p: Array, q: Array, params: SamplingParams) -> tuple[Array, Array]:
    """Expand the temperature over the rows, into a copy."""
    buffer = np.ones(len(p))
    buffer.astype(np.float32).fill(params.temperature)  # the filled array is not kept
    rows = [warped(row, params._replace(temperature=t)) for row, t in zip(p, buffer, strict=True)]
    return np.stack(rows), warped(q, params)


subject = chain(__name__, laws=laws, warps=True)
