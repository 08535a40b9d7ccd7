"""Budgets of drafts: against every choice of lengths in rationals; where a search may stop; wrong confidences (T61)."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from specsim import batch_budget, budget_loss, draft_budget, heap_tree, one_pass_draft

FLAT = [F(1)] * 5


def survivals(rng: np.random.Generator, requests: int, gamma: int) -> Any:
    """Products of random confidences, zeros and ones among them."""
    confidence = [[F(int(c), 6) for c in row] for row in rng.integers(0, 7, (requests, gamma))]
    return np.array([list(itertools.accumulate(row, lambda a, b: a * b)) for row in confidence])


def speeds(survival: Any, times: Any) -> dict[tuple[int, ...], F]:
    """The speed of every choice of lengths."""
    requests, gamma = survival.shape
    return {
        lengths: (requests + sum(sum(row[:k], F(0)) for row, k in zip(survival, lengths, strict=True)))
        / times[sum(lengths)]
        for lengths in itertools.product(range(gamma + 1), repeat=requests)
    }


def random_times(rng: np.random.Generator, count: int) -> Any:
    """Times of 0, ..., count drafts that do not fall: a staircase, or anything else."""
    return np.array([F(4)] + [F(4 + int(x), 1) for x in np.cumsum(rng.integers(0, 3, count))])


@pytest.mark.parametrize("tables", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_no_choice_of_lengths_is_faster(tables: int) -> None:
    rng = np.random.default_rng(0)
    for number in range(tables):
        requests, gamma = ((2, 3), (3, 2), (1, 4))[number % 3]
        survival, times = survivals(rng, requests, gamma), random_times(rng, requests * gamma)
        every, found = speeds(survival, times), batch_budget(survival, times)
        assert found.speed == max(every.values()) == every[tuple(found.lengths)]
        assert found.tokens == found.speed * times[found.lengths.sum()]
        assert found.budget.drafts == found.lengths.sum()


def test_a_survival_that_rises_is_refused_and_the_largest_are_then_no_choice() -> None:
    """Of (1/10, 1) and (1/2) two drafts are worth 11/10 in one request; by size 1/2 comes first."""
    with pytest.raises(ValueError, match=r"survival\[1\] rises"):
        batch_budget([[F(1, 2), F(0)], [F(1, 10), F(1)]], FLAT)


@pytest.mark.parametrize("tables", [200, pytest.param(1000, marks=pytest.mark.slow)])
def test_where_times_are_convex_the_first_loss_is_the_end(tables: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(tables):
        gains = np.array(sorted([F(int(x), 12) for x in rng.integers(0, 13, 6)], reverse=True))
        steps = np.cumsum(rng.integers(0, 3, 6))
        times = np.array([F(3), *(F(3) + F(int(x), 2) for x in np.cumsum(steps))])
        found = draft_budget(gains, times, base=int(rng.integers(1, 4)))
        assert found.stopped_speed == found.speed


def test_on_a_staircase_it_is_not() -> None:
    """Passes of one token take 2, of two or three take 3: one draft loses, two win."""
    found = draft_budget([F(1, 2), F(1, 2)], [F(4), F(7), F(7)])
    assert (found.drafts, found.stopped, found.speed, found.stopped_speed) == (2, 0, F(2, 7), F(1, 4))


def test_a_tree_of_marginals_and_its_best_number_of_nodes() -> None:
    target = {(): [F(2, 3), F(1, 3)], (0,): [F(1, 2), F(1, 2)], (1,): [F(1), F(0)]}
    draft = one_pass_draft(lambda text: np.array(target[text]), gamma=2)
    reach = heap_tree(draft, nodes=6, depth=2).reach
    times = np.array([F(1) + F(n, 5) for n in range(7)])
    found = draft_budget(reach, times)
    assert found.speed == max((1 + sum(reach[:n])) / times[n] for n in range(7))
    assert found.stopped == found.drafts


@pytest.mark.parametrize("tables", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_loss_is_that_of_the_chosen_lengths(tables: int) -> None:
    rng = np.random.default_rng(2)
    for _ in range(tables):
        true, stated, times = survivals(rng, 2, 2), survivals(rng, 2, 2), random_times(rng, 4)
        every, cost = speeds(true, times), budget_loss(stated, true, times)
        chosen = tuple(cost.chosen.lengths)
        assert chosen == tuple(batch_budget(stated, times).lengths)
        assert cost.speed == every[chosen]
        assert cost.tokens == every[chosen] * times[sum(chosen)]
        assert cost.loss == 1 - every[chosen] / max(every.values())


@pytest.mark.parametrize("tables", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_loss_at_a_fixed_budget_is_at_most_the_errors_where_choices_differ(tables: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(tables):
        true, stated = survivals(rng, 2, 3), survivals(rng, 2, 3)
        for budget in range(1, 6):
            # So many drafts, no more and no fewer: all others take for ever.
            times = np.array([F(1) if n == budget else F(10**6) for n in range(7)])
            chosen, best = batch_budget(stated, times).lengths, batch_budget(true, times).lengths
            apart = [(r, i) for r in range(2) for i in range(3) if (i < chosen[r]) != (i < best[r])]
            lost = speeds(true, times)[tuple(best)] - speeds(true, times)[tuple(chosen)]
            assert 0 <= lost <= sum(abs(true[r, i] - stated[r, i]) for r, i in apart)


def test_an_increasing_function_of_survivals_leaves_whose_drafts_are_verified() -> None:
    rng = np.random.default_rng(4)
    for _ in range(30):
        true = survivals(rng, 2, 3)
        times = np.array([F(1) if n == 3 else F(10**6) for n in range(7)])
        assert budget_loss(true**2, true, times).loss == 0


def test_an_increasing_function_of_each_confidence_does_not() -> None:
    """c becomes (1 + c)/2: two of 1/2 are worth more than one of 24/100, and are stated to be worth less."""
    true = np.array([[F(1, 2), F(1, 4)], [F(24, 100), F(0)]])
    stated = np.array([[F(3, 4), F(9, 16)], [F(62, 100), F(31, 100)]])
    times = np.array([F(1) if n == 2 else F(10**6) for n in range(5)])
    cost = budget_loss(stated, true, times)
    assert (cost.chosen.lengths.tolist(), cost.best.lengths.tolist()) == ([1, 1], [2, 0])
    assert cost.loss == F(1, 275)


def test_bad_arguments_are_named() -> None:
    for call, words in (
        (lambda: draft_budget([0.5], [1.0]), "give the time of 0, 1, ..., N drafts"),
        (lambda: draft_budget([0.5], [1.0, 0.0]), r"times\[1\] is 0"),
        (lambda: draft_budget([0.1, 0.5], [1.0] * 3), "gains rises"),
        (lambda: draft_budget([1.5], [1.0] * 2), r"gains\[0\] is 1.5"),
        (lambda: batch_budget([0.5], [1.0] * 2), "give one row for each request"),
        (lambda: budget_loss([[0.5]], [[0.5, 0.2]], [1.0] * 3), "give both for the same drafts"),
    ):
        with pytest.raises(ValueError, match=words):
            call()
