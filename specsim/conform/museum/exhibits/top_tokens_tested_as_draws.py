"""The likeliest tokens are certain candidates, and are tested as if they had been drawn."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "Top-k candidates are tested with the softmax probability of the draft, where one-hot laws belong."
THREAD = "https://github.com/apple/ml-recurrent-drafter/issues/6"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Recursive rejection without replacement, on candidates that were not drawn from q."""
    for x in drafts:
        if random.random() * q[x] <= p[x]:
            return int(x)
        p = residual(p, q)
        p, q = p / p.sum(), np.where(np.arange(len(q)) == x, 0, q)
        if q.sum() == 0:
            break
        q = q / q.sum()
    return draw(random, p)


def subject() -> Subject:
    """One step of several candidates, on NumPy."""
    return Subject("top_tokens_tested_as_draws", "step", run, sizes=(2,), scheme="greedy")
