"""Candidates are tested in another order than that of their drawing."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "Candidates drawn without replacement are sorted by probability before they are tested one after the other."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Recursive rejection without replacement, the likeliest first."""
    for x in sorted((int(x) for x in drafts), key=lambda x: -q[x]):
        if random.random() * q[x] <= p[x]:
            return x
        p = residual(p, q)
        p, q = p / p.sum(), np.where(np.arange(len(q)) == x, 0, q)
        if q.sum() == 0:
            break
        q = q / q.sum()
    return draw(random, p)


def subject() -> Subject:
    """One step of several candidates, on NumPy."""
    return Subject("siblings_sorted", "step", run, sizes=(2,), scheme="without_replacement")
