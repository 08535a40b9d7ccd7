"""One row of exponential noise draws the correction, wherever it is needed."""

from typing import Any

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import residual
from specsim.types import Array

WRONG = (
    "All positions of a block share one exponential race for their corrections; no more than one of them is ever read."
)
THREAD = "https://github.com/vllm-project/vllm/pull/41258"
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise; the noise is there before it is known which position needs it."""
    noise = random.exponential(size=p.shape[1])
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            return i, int((residual(p[i], q[i]) / noise).argmax())
    return len(drafts), int((p[-1] / noise).argmax())


subject = chain(__name__, run)
