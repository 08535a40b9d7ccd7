"""Statements on drafts of one pass and on FLy: counterexamples are the smallest; they compare what they say."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import numpy as np
import pytest

from specsim.claims.settled import settle
from specsim.claims.statements import (
    _bank,
    _coins,
    fly_lossless,
    heap_tree_best,
    markov_head_helps,
    path_selection_best,
    unimodal_budget,
)
from specsim.exact.one_pass import product_draft


@pytest.mark.parametrize(
    ("seconds", "ends"),
    [([(1, 1)], (0, 2)), pytest.param(list(itertools.product(range(3), repeat=2)), (0, 1, 2), marks=pytest.mark.slow)],
    ids=["certain ends", "all"],
)
def test_in_halves_a_markov_head_never_keeps_less(seconds: list[tuple[int, ...]], ends: tuple[int, ...]) -> None:
    for second, third in itertools.product(seconds, itertools.product(ends, repeat=4)):
        plain, markov = markov_head_helps.taus(2, 1, second, third)
        assert plain <= markov


def test_in_thirds_it_does() -> None:
    plain, markov = markov_head_helps.taus(3, *markov_head_helps.THIRDS)
    assert (plain, markov) == (F(940, 243), F(104, 27))
    assert markov < plain


def test_the_staircase_is_a_strict_one() -> None:
    case = unimodal_budget.smallest_staircase()
    assert case is not None
    gains, times, found = case
    speeds = [1 / times[0], (1 + gains[0]) / times[1], (1 + sum(gains)) / times[2]]
    assert found.speeds.tolist() == speeds
    assert speeds[1] < speeds[0] < speeds[2]


def test_the_two_coins_have_the_same_marginals_and_no_common_best_tree() -> None:
    numbers = settle("heap_tree_best").numbers
    worse, better, best = (
        F(numbers[key]) for key in ("the heap's tree, one coin", "the heap's tree, the other", "best, either coin")
    )
    assert worse < best == better


def test_a_coin_is_copied_or_turned() -> None:
    assert _coins.coin(True)((1,)).tolist() == [0, 1]
    assert _coins.coin(False)((1,)).tolist() == [1, 0]


def test_the_best_tree_by_hand() -> None:
    """Of texts 0, 1, 00, 01, 10, 11 the likeliest three: 1, 10 and 0 or 11."""
    draft = product_draft(np.array([[F(1, 4), F(3, 4)], [F(2, 3), F(1, 3)]]))
    assert _coins.best_by_hand(draft) == 1 + F(3, 4) + F(1, 2) + F(1, 4)


def test_the_heap_is_best_for_its_surrogate_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    assert heap_tree_best.settle().verdict == "holds"
    # What the target gives decides nothing.
    monkeypatch.setattr(heap_tree_best, "deterministic_tokens", lambda target, tree: F(5, 2))
    assert heap_tree_best.settle().verdict == "holds"


@pytest.mark.parametrize(("marginals", "path"), [(F(5, 2), F(5, 2)), (F(2), F(2))])
def test_selection_by_path_must_be_better_and_the_best(marginals: F, path: F, monkeypatch: pytest.MonkeyPatch) -> None:
    values = iter([marginals, marginals, path, path, F(2), F(2)])
    monkeypatch.setattr(path_selection_best, "deterministic_tokens", lambda target, tree: next(values))
    assert path_selection_best.settle().verdict == "refuted"


def test_selection_by_path_knows_which_coin_it_is() -> None:
    verdict, _, numbers = path_selection_best.settle()
    assert verdict == "holds under"
    assert numbers["by the target's conditionals"] == numbers["best, a copied and a turned coin"] == "5/2, 5/2"
    assert numbers["selected by marginals"] == "5/2, 2"
    assert numbers["by the other coin's conditionals"] == "2, 2"


@pytest.mark.parametrize(
    ("gains", "times", "is_so"),
    [
        ([1, 0, 0], [1, 1, 4, 2], False),  # speeds 1, 2, 1/2, 1: the best first, and a second peak
        ([1, 1, 1], [1, 2, 2, 2], False),  # 1, 1, 3/2, 2: stops at the start
        ([1, 0, 0], [1, 1, 2, 4], True),  # 1, 2, 1, 1/2
    ],
)
def test_one_peak_by_hand(gains: list[int], times: list[int], is_so: bool) -> None:
    assert unimodal_budget.has_one_peak([F(x) for x in gains], [F(x) for x in times]) == is_so


def test_convex_cases_are_convex_and_all() -> None:
    cases = unimodal_budget.convex_cases()
    assert len({(*gains, *times) for gains, times in cases}) == 20 * 20
    for gains, times in cases:
        steps = [b - a for a, b in itertools.pairwise(times)]
        assert (times[0], gains, steps) == (1, sorted(gains, reverse=True), sorted(steps))


def test_without_a_staircase_the_statement_holds_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unimodal_budget, "smallest_staircase", lambda: None)
    verdict, _, numbers = unimodal_budget.settle()
    assert (verdict, numbers) == ("holds", {"convex cases of 3 nodes, in thirds": "400"})


def test_fly_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """A 0 is drafted and fails with 1/3, the next draft passes with 2/3; at temperature 0 with 2/3 and 1/3."""
    assert fly_lossless.bias(_bank.TARGET, _bank.DRAFT, 2) == F(1, 3) * F(2, 3)
    assert fly_lossless.bias(_bank.TARGET, _bank.DRAFT, 2, greedy=True) == F(2, 3) * F(1, 3)
    assert fly_lossless.bias(_bank.TARGET, _bank.DRAFT, 1) == 0
    assert (fly_lossless.decided(False), fly_lossless.decided(True)) == (1 - F(1, 3), 1)
    monkeypatch.setattr(fly_lossless, "smallest", lambda *a: None)
    assert fly_lossless.settle().verdict == "holds under"
