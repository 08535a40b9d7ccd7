"""An entropy threshold instead of a ratio."""

from typing import Any

import numpy as np

from specsim.conform.museum._frames import chain
from specsim.types import Array

WRONG = (
    "A draft is kept if the target does not find it surprising: a rule that is lossy by design, offered as lossless."
)
THREAD = "https://arxiv.org/abs/2401.10774"
EXPECTED = "convicted"
PROPERTY = "marginal"


def accepts(p: Array, q: Array, i: int, x: int, random: Any) -> bool:
    """Keep what is likelier than a threshold that falls with the entropy."""
    some = p[i][p[i] > 0]
    return bool(p[i, x] > min(0.3, 0.6 * np.exp((some * np.log(some)).sum())))


subject = chain(__name__, accepts=accepts, correction=lambda p, q, i, x: p[i])
