"""A mask covers the first row only."""

import numpy as np

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped
from specsim.conform.subject import SamplingParams
from specsim.types import Array

WRONG = (
    "The filter that forbids tokens (top-k here, a grammar in the thread) is put on the first position, and "
    "the rows after it go unmasked."
)
THREAD = "https://github.com/vllm-project/vllm/pull/54442"
EXPECTED = "convicted"
PROPERTY = "parameters"


def laws(p: Array, q: Array, params: SamplingParams) -> tuple[Array, Array]:
    """Filter the first row; only scale the others."""
    scaled = warped(p, SamplingParams(temperature=params.temperature))
    return np.concatenate([warped(p[:1], params), scaled[1:]]), warped(q, params)


subject = chain(__name__, laws=laws, warps=True)
