"""Statements on drafts of one pass: their counterexamples are the smallest, and what they compare is what they say."""

from __future__ import annotations

import itertools
from fractions import Fraction as F

import pytest

from specsim.claims.settled import settle
from specsim.claims.statements import markov_head_helps, unimodal_budget


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
