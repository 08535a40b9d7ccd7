"""The coin has the precision of a short float."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The coin of the test has a few bits only: ratios are rounded up to multiples of its step."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise with a coin of four bits."""
    for i, x in enumerate(drafts):
        if random.choice(16, p=np.full(16, 1 / 16)) / 16 * q[i, x] >= p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("coin_of_four_bits", "chain", run, sizes=SIZES)
