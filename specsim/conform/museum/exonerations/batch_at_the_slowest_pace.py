"""All rows of a batch keep as many drafts as the row that keeps fewest."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "A row that could keep more is cut where the worst row of its batch ends, after a draft that was accepted."
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def batch(p: Array, q: Array, drafts: Array, random: Any) -> tuple[Array, Array]:
    """Test every row tokenwise; then cut them all to the shortest."""
    made = []
    for row in range(len(p)):
        kept, law = len(drafts[row]), p[row, -1]
        for i, x in enumerate(drafts[row]):
            if random.random() * q[row, i, x] > p[row, i, x]:
                kept, law = i, residual(p[row, i], q[row, i])
                break
        made.append((kept, draw(random, law)))
    least = min(kept for kept, _ in made)
    tokens = [token if kept == least else drafts[row][least] for row, (kept, token) in enumerate(made)]
    return np.full(len(made), least), np.array(tokens)


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """A batch of one."""
    kept, token = batch(p[None], q[None], drafts[None], random)
    return int(kept[0]), int(token[0])


def subject() -> Subject:
    """The chain, on NumPy, in batches."""
    return Subject("batch_at_the_slowest_pace", "chain", run, sizes=SIZES, batch=batch)
