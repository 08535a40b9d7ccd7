"""Small laws and tables in rationals, on which a rule is enumerated."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from specsim.types import Array


def rational_laws(vocab: int, denominator: int) -> Array:
    """Return every law on `vocab` tokens whose entries are multiples of 1/denominator, as Fractions (n, vocab)."""
    counts = itertools.product(range(denominator + 1), repeat=vocab)
    rows = [[Fraction(count, denominator) for count in row] for row in counts if sum(row) == denominator]
    return np.array(rows, dtype=object)


def rational_table(
    rng: np.random.Generator, vocab: int, depth: int, *, one_hot: bool = False
) -> dict[tuple[int, ...], Array]:
    """Return a random law, zeros included, for every prefix of up to `depth` tokens."""
    table = {}
    for length in range(depth + 1):
        for prefix in itertools.product(range(vocab), repeat=length):
            weights = rng.integers(0, 5, vocab)
            weights[rng.integers(vocab)] += 1
            if one_hot:
                weights = (np.arange(vocab) == weights.argmax()).astype(int)
            table[prefix] = np.array([Fraction(int(w), int(weights.sum())) for w in weights], dtype=object)
    return table
