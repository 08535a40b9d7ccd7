"""The draft's log-probabilities are reported for its tokens."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "Tokens are right, and beside those that were drafted stand the logarithms of the draft's probabilities."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "logprobs"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[list[int], list[Any]]:
    """Test tokenwise, and look every token up."""
    out: list[int] = []
    said: list[Any] = []
    for i, x in enumerate(drafts):
        if random.random() * q[i, x] > p[i, x]:
            y = draw(random, residual(p[i], q[i]))
            return [*out, y], [*said, np.log(p[i, y])]
        out.append(int(x))
        said.append(np.log(q[i, x]))
    y = draw(random, p[-1])
    return [*out, y], [*said, np.log(p[-1, y])]


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("logprobs_of_the_draft", "chain", run, sizes=SIZES, returns="tokens", logprobs="warped")
