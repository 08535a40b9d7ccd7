"""Small laws and tables in rationals, on which a rule is enumerated."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np

from specsim.types import Array

# Schemes whose candidates may repeat each other.
REPEATING = ("iid", "paths", "independent")
# (Number of candidates, whether they may repeat each other) -> weights of target and draft, on which
# errors of late rounds show in the rule's law: a third or fourth candidate that is accepted too often
# where the residual gives it less than the draft does, or a residual that is not taken after the last
# candidate. A search chose the weights: among all that it tried, the smallest of these effects is
# largest here.
LASTING = {
    (3, True): ((19, 1, 33, 16, 29), (1, 38, 13, 10, 0)),
    (3, False): ((24, 24, 1, 1, 30), (1, 8, 34, 11, 0)),
    (4, True): ((17, 1, 14, 24, 18, 15), (13, 43, 1, 11, 10, 0)),
    (4, False): ((17, 8, 8, 3, 19, 13), (4, 6, 19, 22, 1, 0)),
}

# Pairs (weights of the target, weights of the draft) on three tokens. First: the target is almost
# certain. Second: a tie in the second round. Third: two tokens stay in the residual for four rounds,
# and the second of them is then accepted with a probability below 1.
PAIRS = (((9, 1, 0), (1, 0, 0)), ((5, 7, 4), (4, 4, 8)), ((8, 7, 5), (2, 3, 15)))


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


def row_of(*weights: int) -> tuple[Fraction, ...]:
    """Return a law in proportion to whole numbers."""
    return tuple(Fraction(w, sum(weights)) for w in weights)


def lasting_laws(candidates: int, scheme: str) -> tuple[Array, Array]:
    """Return the pair of LASTING for so many candidates of a scheme, as Fractions, each (1, V)."""
    p, q = LASTING[candidates, scheme in REPEATING]
    return np.array([row_of(*p)], dtype=object), np.array([row_of(*q)], dtype=object)


def pairs() -> tuple[Array, Array]:
    """Return the pairs of PAIRS as Fractions, each (n, 3)."""
    p, q = zip(*((row_of(*target), row_of(*draft)) for target, draft in PAIRS), strict=True)
    return np.array(p, dtype=object), np.array(q, dtype=object)
