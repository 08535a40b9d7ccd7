"""Small rational laws in order of size, so that the first counterexample is the smallest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from itertools import product
from typing import NamedTuple

import numpy as np

from specsim.claims.statements._verdict import REFUTED, UNDER, Settled
from specsim.types import Array

F = Fraction
# The example of Sun et al. (arXiv:2403.10444): of 2 drafts 10/9 are accepted tokenwise, 11/9 as a
# block, 12/9 with full information.
TARGET, DRAFT = np.array([F(1, 3), F(2, 3)]), np.array([F(2, 3), F(1, 3)])


def laws(vocab: int, parts: int) -> Iterator[Array]:
    """Yield all laws without a zero whose probabilities are multiples of 1/parts.

    >>> [[str(x) for x in law] for law in laws(2, 3)]
    [['1/3', '2/3'], ['2/3', '1/3']]
    """
    for first in product(range(1, parts), repeat=vocab - 1):
        if sum(first) < parts:
            yield np.array([F(x, parts) for x in (*first, parts - sum(first))])


def pairs(vocabs: Iterable[int] = (2, 3), parts: int = 5) -> Iterator[tuple[Array, Array]]:
    """Yield pairs (target, draft), fewest tokens first, then the smallest common denominator."""
    for vocab in vocabs:
        for size in range(vocab, parts + 1):
            yield from product(laws(vocab, size), repeat=2)


class Case(NamedTuple):
    """A pair of laws for which a statement fails, and the two values that show it."""

    p: Array
    q: Array
    value: Fraction
    stated: Fraction

    def numbers(self, value_name: str, stated_name: str) -> dict[str, str]:
        """The laws and the two values in words, these under the given names."""
        laws = {"target": shown(self.p), "draft": shown(self.q)}
        return laws | {value_name: str(self.value), stated_name: str(self.stated)}


def smallest(
    values: Callable[[Array, Array], tuple[Fraction, Fraction]], vocabs: Iterable[int] = (2, 3), parts: int = 5
) -> Case | None:
    """The first pair where the first value is below the second; None if there is none among `pairs`."""
    for p, q in pairs(vocabs, parts):
        value, stated = values(p, q)
        if value < stated:
            return Case(p, q, value, stated)
    return None


def shown(law: Array) -> str:
    """A law as words.

    >>> shown(TARGET)
    '1/3, 2/3'
    """
    return ", ".join(str(x) for x in law)


def refuted(case: Case | None, because: str, value_name: str, stated_name: str) -> Settled:
    """The verdict "refuted" by the case, if there is one; the names are those of its two values."""
    if case is None:
        return Settled(UNDER, "the small laws that were tried, which have no counterexample.", {})
    return Settled(REFUTED, because, case.numbers(value_name, stated_name))


def unless(case: Case | None, held: Settled, value_name: str, stated_name: str) -> Settled:
    """The verdict `held`, or "refuted" by the case, if there is one."""
    if case is None:
        return held
    return Settled(REFUTED, "a pair of laws is against it.", case.numbers(value_name, stated_name))
