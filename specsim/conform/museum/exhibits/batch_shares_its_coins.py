"""A coin is drawn for a position, and serves all rows of the batch."""

from typing import Any

import numpy as np

from specsim.conform.museum._parts import SIZES, draw, residual
from specsim.conform.subject import Subject
from specsim.types import Array

WRONG = "The coins of a batch lack an axis: every row is tested with the same ones, so that its texts hang together."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "batches"


def batch(p: Array, q: Array, drafts: Array, random: Any) -> tuple[Array, Array]:
    """Test row after row, tokenwise, with coins that are drawn once."""
    coins, made = [random.random() for _ in drafts[0]], []
    for row in range(len(p)):
        kept, law = len(drafts[row]), p[row, -1]
        for i, x in enumerate(drafts[row]):
            if coins[i] * q[row, i, x] > p[row, i, x]:
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
    return Subject("batch_shares_its_coins", "chain", run, sizes=SIZES, batch=batch)
