"""Long rows are checked while they are binned: every bad input gets the error, to the letter, of `check.pair`."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from specsim import optimal_acceptance
from specsim.base import check
from specsim.base.arrays import at_most
from specsim.bounds.schemes import _lowest, _prefix

Array = Any
INF, NAN = np.inf, np.nan
# What one entry is replaced by, or the factor of a whole row.
ENTRIES = (-0.1, -1e-3, -1e-300, -0.0, NAN, -NAN, INF, -INF, 1e308, 1.0)
FACTORS = (0.0, 0.9, 1 + 1e-3, 1 + 2e-6, 1 + 1.1e-6, 1 - 0.9e-6, 1 + 6e-7, 1 + 4e-7, -1.0, INF, 1e308)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of more than 16 tokens are long."""
    monkeypatch.setattr(_prefix, "LONG", 16)


def outcome(call: Callable[[], Any]) -> tuple[Any, list[str]]:
    """The value, or kind and text of the error; and what was warned of."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            result = np.asarray(call()).tolist()
        except (ValueError, TypeError) as error:
            result = type(error), str(error)
    return result, [str(w.message) for w in heard]


def assert_same(p: Any, q: Any, num_drafts: Any = 2) -> bool:
    """Compare with what rows give that `check.pair` has validated; return whether the rows are laws."""

    def validated() -> Array:
        with np.errstate(under="ignore"):
            a, b = check.pair(p, q)
            return at_most(_prefix.value(a, b, num_drafts), 1)

    found = outcome(lambda: optimal_acceptance(p, q, num_drafts=num_drafts))
    assert found == outcome(validated)
    return not isinstance(found[0], tuple)


def corrupted(rng: np.random.Generator, w: Array) -> Array:
    """One to three wrong things about one row or all rows."""
    w = w.copy()
    for _ in range(rng.integers(1, 4)):
        row = w[*(rng.integers(n) for n in w.shape[:-1])]
        kind, place = rng.integers(5), rng.integers(len(row))
        if kind == 0:
            row[place] = rng.choice(ENTRIES)
        elif kind == 1:
            row *= rng.choice(FACTORS)
        elif kind == 2:  # a negative entry that leaves the sum as it is
            row[place - 1] += row[place] + 0.01
            row[place] = -0.01
        elif kind == 3:  # cut: most tokens have nothing
            row[rng.random(len(row)) < 0.8] = 0
            row /= max(row.sum(), 1e-3)
        else:
            row[place] += rng.choice([1e-5, 9e-7, 4e-7, -4e-7])
    return w


def assert_on(pairs: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    laws = 0
    for n in range(pairs):
        shape = [(), (3,), (2, 2)][n % 3]
        p, q = rng.dirichlet(np.full(rng.integers(17, 40), rng.choice([0.1, 1])), (2, *shape))
        kinds = [(np.float64, np.float64), (np.float32, np.float64), (np.float32, np.float32)][n % 4 % 3]
        with np.errstate(all="ignore"):
            if n % 5:
                p = corrupted(rng, p)
            if n % 5 != 1:
                q = corrupted(rng, q)
            p, q = (w.astype(kind) for w, kind in zip((p, q), kinds, strict=True))
        laws += assert_same(p, q, 1 + n % 3)
    assert pairs / 10 < laws < pairs / 2  # both are seen


def test_errors_of_three_hundred_pairs() -> None:
    assert_on(300, seed=1)


@pytest.mark.slow
def test_errors_of_five_thousand_pairs() -> None:
    assert_on(5_000, seed=2)


# The same rows of other kinds, shapes and libraries.
MAKES: tuple[Callable[[Array], Any], ...] = (
    lambda w: w,
    lambda w: w.tolist(),
    lambda w: np.repeat(w, 2, axis=-1)[:, ::2],
    lambda w: np.asfortranarray(w),
    lambda w: w[:, ::-1],
    lambda w: w[:, :30],
    lambda w: w[0],
    lambda w: w[:1],
    lambda w: w[:0],
    lambda w: w[0, 0],
    lambda w: w.view(np.recarray),
    lambda w: np.ma.masked_array(w),
    lambda w: np.ma.masked_less(w, 0.01),
    lambda w: (w > 0.5).astype(int),
    lambda w: w > 0.5,
    lambda w: w.astype(np.float32),
    lambda w: w.astype(np.float16),
    lambda w: w.astype(np.longdouble),
    lambda w: w.astype(">f8"),
    lambda w: w.astype(complex),
    lambda w: w.astype(object),
    lambda w: np.array([[Fraction(1, 40)] * 40] * 2),
    lambda w: w.astype(str),
    lambda w: pytest.importorskip("torch").from_numpy(w),
    lambda w: pytest.importorskip("torch").from_numpy(w.astype(np.float32)),
)


@pytest.mark.parametrize("make", MAKES)
def test_errors_of_other_arrays(make: Callable[[Array], Any]) -> None:
    """Integers, lists, strides, masks, subclasses, other types, shapes and libraries, good and bad."""
    p, q = np.random.default_rng(3).dirichlet(np.ones(40), (2, 2))
    bad = p.copy()
    bad[1, 3] = -0.5
    for other in (make, MAKES[0], *MAKES[5:8]):
        for a, b in ((p, q), (bad, q), (p, bad)):
            assert_same(make(a), other(b))
    assert_same(p, make(q))


def test_errors_of_the_number_of_drafts_come_first() -> None:
    bad = np.full(40, 1.0)
    with pytest.raises(ValueError, match="num_drafts must be at least 1, got 0"):
        optimal_acceptance(bad, bad, num_drafts=0)
    with pytest.raises(TypeError, match=r"num_drafts must be an integer, got 2\.0"):
        optimal_acceptance(bad, bad, num_drafts=2.0)  # type: ignore[arg-type]


def test_laws_are_not_read_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a doubt costs a pass, one for all rows of a batch."""
    asked = []
    pair = check.pair
    monkeypatch.setattr(check, "pair", lambda p, q: asked.append(p.shape) or pair(p, q))
    p, q = np.random.default_rng(4).dirichlet(np.ones(40), (2, 3))
    optimal_acceptance(p, q, num_drafts=2)
    assert not asked
    optimal_acceptance(p * (1 + 8e-7), q, num_drafts=2)
    assert asked == [(3, 40)]
    assert _lowest.SURELY < check.TOLERANCE
