"""The plan of a long NumPy row, made in pieces, and one draw: the numbers and tokens of the plain rule."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from helpers.optimal_pairs import KINDS, float_pair

from specsim.types import Draws
from specsim.verify.step import _long, _one, _plan, optimal

Array = Any
COUNTS = (2, 3, 8, Draws(2, 0.5, 3))


@pytest.fixture
def both(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Both plans of a pair, the long one in pieces of 16 tokens, or 8, or 4."""
    for module, name, size in ((_long, "CHUNK", 16), (_long, "FINE", 8), (_long, "PIECE", 4), (_plan, "PIECE", 4)):
        monkeypatch.setattr(module, name, size)

    def plans(p: Array, q: Array, count: int | Draws, grid: float | None) -> tuple[Any, optimal.Plan]:
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
        assert_equal(_plan.rows(made), plain, exactly=grid is None and bool(np.count_nonzero(q) * 2 >= len(q)))
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
    plan = optimal.prepare(p, q, 2)
    order = np.argsort(plan.place)
    assert (order == optimal._order(p / q)).all()
    assert not (order == np.argsort(p / q, kind="stable")).all()


@pytest.mark.parametrize("kind", KINDS)
def test_one_draft_and_one_token_left_over_are_those_of_all_rows(kind: str, both: Any) -> None:
    rng = np.random.default_rng(len(kind))
    for n in range(6):
        p, q = float_pair(rng, int(rng.integers(20, 120)), kind)
        if n % 2:
            q[rng.permutation(len(q)) >= len(q) // 3] = 0
            q[q.argmax()] += 1 - q.sum()
        plan, _ = both(p, q, 2, None)
        rows = plan.rows
        for token in range(len(p)):
            place = rows.place[token]
            assert plan.column(token)[0] == place
            # Tokens that are never drafted come last.
            assert q[token] > 0 or place == len(plan.slope) - 1 or len(plan.slope) == len(p)
            if q[token] > 0:
                assert plan.column(token)[1:] == tuple(w[place] for w in (rows.wanted, rows.q_there, rows.slope))
        # What is left over, at both ends of the line, too.
        weight = plan.left_over(slice(None))
        for u in (0.0, 2**-60, *rng.random(40), 1 - 2**-53):
            token = plan.replacement(u)
            assert weight[token] > 0
            bound = rows.left_over[-1] * (1 - u)
            assert rows.left_over[token] >= bound - 1e-14
            assert rows.left_over[token] - weight[token] <= bound + 1e-14


def test_pieces_fit_into_chunks() -> None:
    assert _long.CHUNK % _plan.PIECE == 0


def test_a_plan_stays_as_it_is_while_others_are_made() -> None:
    """Temporary rows are used again, by every thread its own: the rows of a plan are not among them."""
    pairs = np.random.default_rng(6).dirichlet(np.full(8_200, 0.3), (3, 2))

    def numbers(plan: Any) -> list[list[float]]:
        return [w.tolist() for w in (plan.place, plan.slope, plan.gains, plan.losses, plan.rest_mass)]

    plans = [optimal.prepare(p, q, 2) for p, q in pairs]
    with ThreadPoolExecutor(3) as pool:
        assert not np.shares_memory(pool.submit(_long._temporary, 9_000).result()[0], _long._temporary(9_000)[0])
        others = list(pool.map(lambda pair: numbers(optimal.prepare(*pair, 2)), [*pairs, *pairs]))
    assert [numbers(plan) for plan in plans] * 2 == others
    assert len({str(n) for n in others}) == len(pairs)


def test_temporary_rows_are_used_again() -> None:
    """Also by a shorter row; those of very long rows are not kept."""
    (kept, _), (again, tokens) = _long._temporary(9_000), _long._temporary(8_300)
    assert np.shares_memory(kept, again)
    assert (again.shape, tokens.tolist()) == ((6, 8_300), list(range(8_300)))
    assert np.shares_memory(kept, _long._temporary(9_000)[0])
    longest = _long.SHARED + 1
    assert not np.shares_memory(_long._temporary(longest)[0], _long._temporary(longest)[0])


def test_a_row_of_one_draft_law_asks_for_few_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Bounds leave out most pieces: of 100, no more than a fifth is looked at for each number."""
    monkeypatch.setattr(_long, "FINE", 100)
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
