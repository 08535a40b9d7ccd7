"""The plan of a long NumPy row, made in pieces, and one draw: the numbers and tokens of the plain rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from helpers.optimal_pairs import KINDS, float_pair

from specsim.types import Draws
from specsim.verify.step import _long, _one, optimal

Array = Any
COUNTS = (2, 3, 8, Draws(2, 0.5, 3))


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Both plans of a pair, the long one in pieces of 16 tokens."""
    monkeypatch.setattr(_long, "CHUNK", 16)

    def plans(p: Array, q: Array, count: int | Draws, grid: float | None) -> tuple[optimal.Plan, optimal.Plan]:
        assert _long.serves(p)
        made = optimal.prepare(p, q, count, grid=grid)
        with monkeypatch.context() as patch:
            patch.setattr(_long, "serves", lambda p: False)
            return made, optimal.prepare(p, q, count, grid=grid)

    return plans


def assert_equal(made: optimal.Plan, plain: optimal.Plan, exactly: bool) -> None:
    """Every number; where the tokens never drafted share a place, what it has is what each of them has."""
    drafted = plain.p < _long.INFINITY * plain.q
    assert (made.place[drafted] == plain.place[drafted]).all()
    for name, a, b in zip(made._fields, made, plain, strict=True):
        if name == "place":
            continue
        if a.shape != b.shape:
            assert len(a) == np.count_nonzero(plain.q) + 1 <= len(b) / 2 + 1, name
            last = np.count_nonzero(drafted)
            a, b = (np.append(w[:last], w[-1]) for w in (a, b))
        assert a.shape == b.shape
        assert np.allclose(a, b, rtol=0 if exactly else 1e-9, atol=0 if exactly else 1e-12), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("grid", [None, 0.1])
def test_numbers_and_tokens_are_those_of_the_plain_plan(kind: str, grid: float | None, both: Any) -> None:
    rng = np.random.default_rng([len(kind), grid is None])
    for n in range(12):
        p, q = float_pair(rng, int(rng.integers(17, 120)), kind)
        if n % 4 == 3:  # rows cut to a third
            keep = rng.permutation(len(q)) < len(q) // 3
            p, q = (np.where(keep, w, 0) + 1e-9 * (np.arange(len(w)) == keep.argmax()) for w in (p, q))
            p, q = p / p.sum(), q / q.sum()
        count = COUNTS[n % 3 + (n > 8)]
        made, plain = both(p, q, count, grid)
        assert_equal(made, plain, exactly=grid is None and bool(np.count_nonzero(q) * 2 >= len(q)))
        number = count.limit if isinstance(count, Draws) else count
        drafts = rng.choice(len(q), (20, number), p=q)
        if isinstance(count, Draws):
            drafts[::2, -1] = -1  # a draft that is not there
        for x, u in zip(drafts, rng.random((20, optimal.uniforms(count))), strict=True):
            found = optimal.verify(made, x, u)
            assert found == optimal.verify(plain, x, u)
            assert found == optimal.verify(plain, x[None], u[None])[0]
            assert _one.serves(p, x, u)
            assert not _one.serves(p, x[None], u[None])
        assert np.allclose(optimal.transition(made, x), optimal.transition(plain, x), rtol=0, atol=1e-9)


def test_ratios_closer_than_the_words_tell_are_put_in_order() -> None:
    """Differences of 1e-12 and 1e-14 lie below the last bit of a word; 1e-16 is rounding, and ids decide."""
    rng = np.random.default_rng(5)
    q = rng.dirichlet(np.full(60_000, 5.0))
    near = np.arange(1000)
    p = q * np.concatenate([1 + 1e-12 * rng.permutation(near), 2 + 1e-16 * rng.permutation(near), rng.random(58_000)])
    order = _long.ordered(p, q)
    assert (order == optimal._order(p / q)).all()
    assert not (order == np.argsort(p / q, kind="stable")).all()


def test_a_row_of_one_draft_law_asks_for_few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds leave out most pieces: of 100, no more than a fifth is looked at for each number."""
    monkeypatch.setattr(_long, "CHUNK", 100)
    asked: list[int] = []
    most = _long._most

    def counted(f: Any, bound: Array, pieces: list[slice], least: float) -> float:
        asked.append(0)

        def g(s: slice) -> Array:
            asked[-1] += 1
            return f(s)

        return most(g, bound, pieces, least)

    monkeypatch.setattr(_long, "_most", counted)
    rng = np.random.default_rng(2)
    logits = 3 * rng.standard_normal(10_000)
    p, q = (w / w.sum() for w in np.exp(logits + rng.standard_normal((2, 10_000))))
    optimal.prepare(p, q, 2)
    assert len(asked) == 3
    assert max(asked) <= 20
