"""The law of how many different tokens some draws are: by enumeration, of long rows, of many draws."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim.draft import _occupancy, distinct, iid
from specsim.testing.strategies import rational_laws
from specsim.types import Draws

Array = Any
EXTRA = st.fractions(0, 1, max_denominator=7)
NUMBERS = st.tuples(st.integers(1, 3), EXTRA).map(lambda v: Draws(v[0], v[1], 4))


def by_enumeration(q: Array, n: int, size: int) -> list[Fraction]:
    out = [Fraction(0)] * size
    for tokens in itertools.product(range(len(q)), repeat=n):
        out[len(set(tokens))] += math.prod((q[t] for t in tokens), start=Fraction(1))
    return out


@settings(max_examples=40)
@given(st.integers(1, 4).flatmap(rational_laws), NUMBERS)
def test_law_of_the_number_of_distinct_tokens(q: Array, draws: Draws) -> None:
    few, more = (by_enumeration(q, draws.least + extra, 5) for extra in (0, 1))
    law = distinct.distinct_law(q, draws)
    assert law.tolist() == [(1 - draws.extra) * a + draws.extra * b for a, b in zip(few, more, strict=True)]
    assert (law * np.arange(5)).sum() == distinct.expected_distinct(q, draws)


def test_law_of_the_number_of_distinct_tokens_of_long_rows() -> None:
    """Against Fractions (likely and unlikely tokens apart), and a uniform row against its one-line recursion."""
    rng = np.random.default_rng(1)
    weights = np.sort(rng.integers(1, 10**6, (2, 60)) ** 2)
    exact = np.array([[Fraction(int(w), int(row.sum())) for w in row] for row in weights], dtype=object)
    law = distinct.distinct_law(exact, distinct.draws(exact, 3, 5))
    floats = distinct.distinct_law(exact.astype(float), distinct.draws(exact.astype(float), 3, 5))
    assert np.abs(law.astype(float) - floats).max() <= 1e-13
    for vocab in (2000, 152_000):
        row = [Fraction(1)] + [Fraction(0)] * 32
        for _ in range(32):
            row = [
                Fraction(d, vocab) * row[d] + Fraction(vocab - d + 1, vocab) * row[d - 1] * (d > 0) for d in range(33)
            ]
        found = distinct.distinct_law(np.full(vocab, 1 / vocab), Draws(32, 0, 32))
        assert np.abs(found - np.array(row, dtype=float)).max() <= 1e-13


def uniform_occupancy(vocab: int, n: int) -> Array:
    """Law of the number of distinct tokens among n uniform draws, d = 0..n: draw by draw, all terms positive."""
    row, number = np.eye(1, n + 1)[0], np.arange(n + 1)
    for _ in range(n):
        row = number / vocab * row + np.concatenate([[0], (vocab - number[:-1]) / vocab * row[:-1]])
    return row


@pytest.mark.parametrize(("vocab", "n"), [(300, 1023), (100, 200), (1000, 180)])
def test_law_of_many_draws(vocab: int, n: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Hundreds of draws, whose factorials are beyond any float; with too few points the law comes out wrong."""
    q, draws = np.full(vocab, 1 / vocab), Draws(n, 0.25, n + 1)
    wanted = 0.75 * np.append(uniform_occupancy(vocab, n), 0) + 0.25 * uniform_occupancy(vocab, n + 1)
    assert np.abs(distinct.distinct_law(q, draws) - wanted).max() <= 1e-12
    monkeypatch.setattr(_occupancy, "_half_circle_points", lambda n: 4)
    assert np.abs(distinct.distinct_law(q, draws) - wanted).max() > 1e-3


def test_law_of_many_draws_of_peaked_rows() -> None:
    """Each row with its own number of draws: a law, with the exact mean."""
    q = np.exp(4 * np.random.default_rng(2).standard_normal((4, 300)))
    q /= q.sum(axis=-1, keepdims=True)
    draws = distinct.draws(q, 20, 1024)
    law = distinct.distinct_law(q, draws)
    assert draws.least.min() > 50
    assert np.abs(law.sum(axis=-1) - 1).max() <= 1e-11
    assert np.abs((law * np.arange(1025)).sum(axis=-1) - distinct.expected_distinct(q, draws)).max() <= 1e-9


def test_law_of_many_draws_of_one_likely_token() -> None:
    """Two tokens, one of them all but certain: both are seen unless all draws agree."""
    found = distinct.distinct_law(np.array([1 - 2.0**-10, 2.0**-10]), Draws(1024, 0, 1024))
    one = (1 - 2.0**-10) ** 1024
    assert np.abs(found[:3] - [0, one, 1 - one]).max() <= 1e-12
    assert not found[3:].any()


@given(st.lists(st.fractions(0, 1), min_size=2, max_size=2), NUMBERS, st.booleans())
def test_generating_function_and_its_mean_slope(ends: list[Fraction], draws: Draws, rows: bool) -> None:
    """By definition, with one law for all or one for each row; and with N certain as for K i.i.d. drafts."""

    def g(t: Fraction) -> Fraction:
        return (1 - draws.extra) * t**draws.least + draws.extra * t ** (draws.least + 1)

    a, b = sorted(ends)
    wanted = (g(b) - g(a)) / (b - a) if a < b else None
    own = Draws(np.array([draws.least]), np.array([draws.extra], dtype=object), 4) if rows else draws
    a, b = (np.array([[v]], dtype=object) for v in (a, b))
    assert distinct.inside(b, own)[0, 0] == g(b[0, 0])
    slope = distinct.mean_slope(a, b, own)[0, 0]
    if wanted is not None:
        assert slope == wanted
    near = distinct.mean_slope(b, b + Fraction(1, 10**9), own)[0, 0]
    assert abs(distinct.mean_slope(b, b, own)[0, 0] - near) < Fraction(1, 10**7)
    assert distinct.inside(b, Draws(draws.least, 0, 4))[0, 0] == iid.inside(b, draws.least)[0, 0]
