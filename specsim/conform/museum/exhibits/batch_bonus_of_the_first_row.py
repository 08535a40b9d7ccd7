"""The bonus rows of a batch are gathered with an index that does not move."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The bonus tokens of a batch all come from its first row's last law."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "batches"


def batch(p: Array, q: Array, drafts: Array, random: Any) -> tuple[Array, Array]:
    """Test row after row, tokenwise; look the bonus up in row 0."""
    made = []
    for row in range(len(p)):
        kept, law = len(drafts[row]), p[0, -1]
        for i, x in enumerate(drafts[row]):
            if random.random() * q[row, i, x] > p[row, i, x]:
                kept, law = i, residual(p[row, i], q[row, i])
                break
        made.append((kept, draw(random, law)))
    return np.array([kept for kept, _ in made]), np.array([token for _, token in made])


def run(p: Array, q: Array, drafts: Array, random: Any) -> tuple[int, int]:
    """A batch of one, which is right."""
    kept, token = batch(p[None], q[None], drafts[None], random)
    return int(kept[0]), int(token[0])


def subject() -> Subject:
    """The chain, on NumPy, in batches."""
    return Subject("batch_bonus_of_the_first_row", "chain", run, sizes=SIZES, batch=batch)
