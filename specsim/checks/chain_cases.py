"""The standard cases of chain checks: tables in rationals, blocks drafted from them, and random blocks in floats."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from types import ModuleType

import numpy as np

from specsim.checks import backends
from specsim.exact.chain import Table
from specsim.exact.small_laws import rational_table
from specsim.types import Array
from specsim.verify.hits import draft_tuples

# (vocabulary, gamma) of the tables.
SHAPES = (*((2, gamma) for gamma in range(1, 9)), *((3, gamma) for gamma in range(1, 5)), (24, 1))


def standard_tables() -> Iterator[tuple[str, Table, Table, int]]:
    """Yield (words, target, draft, gamma): two random tables of every shape."""
    for vocab, gamma in SHAPES:
        for seed in (0, 1):
            rng = np.random.default_rng([vocab, gamma, seed])
            target, draft = rational_table(rng, vocab, gamma), rational_table(rng, vocab, gamma)
            yield f"V={vocab} gamma={gamma} seed={seed}", target, draft, gamma


def drafted_blocks() -> Iterator[tuple[str, Array, Array, Array]]:
    """Yield (words, p (gamma+1, V), q (gamma, V), drafts) of every block that can be drafted from the tables."""
    for where, target, draft, gamma in standard_tables():
        for x in draft_tuples(len(target[()]), gamma):
            path = tuple(int(token) for token in x)
            q = np.array([draft[path[:i]] for i in range(gamma)])
            if all(q[i, token] for i, token in enumerate(path)):
                yield where, np.array([target[path[:i]] for i in range(gamma + 1)]), q, x


def continuation_mass(target: Table, text: tuple[int, ...], start: int) -> Fraction:
    """Return the target's probability of the tokens of a text from `start` on, given those before."""
    mass = Fraction(1)
    for i in range(start, len(text)):
        mass *= target[text[:i]][text[i]]
    return mass


def random_blocks(rule: ModuleType, vocab: int, rows: int, gamma: int) -> tuple[Array, ...]:
    """Return random float64 p (rows, gamma+1, V), q (rows, gamma, V), drafts (rows, gamma), and the rule's uniforms."""
    p, _, _ = backends.laws(vocab, rows * (gamma + 1), seed=gamma)
    _, q, rng = backends.laws(vocab, rows * gamma, seed=gamma)
    x, u = rng.integers(0, vocab, (rows, gamma)), rng.random((rows, rule.uniforms(gamma)))
    return p.reshape(rows, gamma + 1, vocab), q.reshape(rows, gamma, vocab), x, u
