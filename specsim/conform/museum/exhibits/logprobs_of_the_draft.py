"""The draft's log-probabilities are reported for its tokens."""

from typing import Any

import numpy as np

from specsim.conform.museum._frames import chain, tokenwise
from specsim.types import Array

WRONG = "Tokens are right, and beside those that were drafted stand the logarithms of the draft's probabilities."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "logprobs"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[list[int], list[Any]]:
    """Test tokenwise, and look every token up."""
    num_accepted, y = tokenwise(p, q, drafts, random)
    logprobs = [np.log(q[i, x]) for i, x in enumerate(drafts[:num_accepted])]
    return [*map(int, drafts[:num_accepted]), y], [*logprobs, np.log(p[num_accepted, y])]


subject = chain(__name__, run, returns="tokens", logprobs="warped")
