"""An entropy threshold instead of a ratio."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = (
    "A draft is kept if the target does not find it surprising: a rule that is lossy by design, offered as lossless."
)
THREAD = "https://arxiv.org/abs/2401.10774"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Keep what is likelier than a threshold that falls with the entropy."""
    for i, x in enumerate(drafts):
        some = p[i][p[i] > 0]
        if p[i, x] <= min(0.3, 0.6 * np.exp((some * np.log(some)).sum())):
            return i, draw(random, p[i])
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("typical_acceptance", "chain", run, sizes=SIZES)
