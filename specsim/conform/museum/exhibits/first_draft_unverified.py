"""Verification begins after the first draft."""

from typing import Any

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The first draft is kept without a test; only the later ones are verified."
THREAD = "https://github.com/ohdearquant/lattice/issues/243"
EXPECTED = "convicted"
PROPERTY = "marginal"


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """Test tokenwise from the second draft on."""
    for i, x in enumerate(drafts):
        if i > 0 and random.random() * q[i, x] > p[i, x]:
            return i, draw(random, residual(p[i], q[i]))
    return len(drafts), draw(random, p[-1])


def subject() -> Subject:
    """The chain, on NumPy."""
    return Subject("first_draft_unverified", "chain", run, sizes=SIZES)
