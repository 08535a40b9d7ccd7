"""The residual is drawn from without normalising it."""

import random

from specsim.conform.museum._frames import chain
from specsim.types import Array

WRONG = "max(p - q, 0) does not sum to 1 and is handed on as it is; the sampler takes weights."
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def run(p: Array, q: Array, drafts: Array) -> tuple[int, int]:
    """Test tokenwise, with Python's generator."""
    tokens = range(p.shape[1])
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] >= p[i, x]:
            return i, random.choices(tokens, weights=(p[i] - q[i]).clip(0))[0]
    return len(drafts), random.choices(tokens, weights=p[-1])[0]


subject = chain(__name__, run, randomness="global")
