"""The most that drafts of one pass can give: against every law of a grid, random laws and block verification (T60)."""

from __future__ import annotations

import itertools
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest

from specsim import expected_tokens, one_pass_bound, one_pass_ceiling, one_pass_draft, product_draft
from specsim.bounds.one_pass import best_law, kept
from specsim.exact.small_laws import rational_laws, rational_table
from specsim.types import Array

PARTS = 6


@pytest.mark.parametrize("tables", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_the_best_law_of_one_place_beats_a_grid(tables: int) -> None:
    rng = np.random.default_rng(0)
    for vocab in (2, 3):
        grid = rational_laws(vocab, PARTS)
        for _ in range(tables):
            rows = np.array([rational_table(rng, vocab, 0)[()] for _ in range(3)])
            weights = np.array([F(int(w), 7) for w in rng.integers(0, 5, 3)])
            best = best_law(rows, weights)
            assert best.sum() == 1
            assert (best >= 0).all()
            assert all(kept(rows, weights, q) <= kept(rows, weights, best) for q in grid)


def test_of_two_tokens_the_best_law_is_a_weighted_median() -> None:
    heads = [F(1, 5), F(1, 2), F(9, 10)]
    rows = np.array([[h, 1 - h] for h in heads])
    for weights, median in (([1, 1, 1], F(1, 2)), ([5, 1, 1], F(1, 5)), ([1, 1, 5], F(9, 10))):
        assert best_law(rows, np.array([F(w) for w in weights]))[0] == median


@pytest.mark.parametrize("tables", [3, pytest.param(1000, marks=pytest.mark.slow)])
def test_nothing_exceeds_the_ceiling(tables: int) -> None:
    """Laws of a grid and random ones; the laws that it names attain it; and so for its bound of any rule."""
    rng = np.random.default_rng(1)
    for number in range(tables):
        vocab, gamma = ((2, 3), (2, 2), (3, 2))[number % 3]
        target = rational_table(rng, vocab, gamma).__getitem__
        best = one_pass_ceiling(target, gamma=gamma)
        assert expected_tokens(target, product_draft(best.rows), gamma=gamma) == best.tau <= best.any_rule
        floats = {t: target(t).astype(float) for n in range(gamma) for t in itertools.product(range(vocab), repeat=n)}
        for _ in range(25):
            rows = rng.dirichlet([0.5] * vocab, gamma)
            near = 0.8 * best.rows.astype(float) + 0.2 * rows
            for laws in (rows, near):
                values = [
                    float(expected_tokens(floats.__getitem__, product_draft(laws), gamma=gamma, rule=rule))
                    for rule in ("tokenwise", "block")
                ]
                assert values[0] <= float(best.tau) + 1e-12
                assert values[1] <= float(best.any_rule) + 1e-12


def test_a_grid_of_all_three_laws_stays_below_and_comes_near() -> None:
    target = rational_table(np.random.default_rng(2), 2, 3).__getitem__
    best = one_pass_ceiling(target, gamma=3)
    grid = itertools.product(rational_laws(2, 5), repeat=3)
    most = max(expected_tokens(target, product_draft(np.array(laws)), gamma=3) for laws in grid)
    assert best.tau - F(1, 5) < most <= best.tau


@pytest.mark.parametrize("tables", [30, pytest.param(1000, marks=pytest.mark.slow)])
def test_with_two_drafts_no_rule_exceeds_the_ceiling(tables: int) -> None:
    rng = np.random.default_rng(3)
    for _ in range(tables):
        best = one_pass_ceiling(rational_table(rng, 2, 2).__getitem__, gamma=2)
        assert best.any_rule == best.tau


def test_the_marginals_are_not_always_best() -> None:
    first = np.array([F(2, 3), F(1, 3)])

    def copied(text: tuple[int, ...]) -> Any:
        return np.array([F(text[0] == v) for v in (0, 1)]) if text else first

    best = one_pass_ceiling(copied, gamma=2)
    assert best.tau == F(8, 3)
    assert best.rows.tolist() == [[F(2, 3), F(1, 3)], [1, 0]]
    assert expected_tokens(copied, one_pass_draft(copied, gamma=2), gamma=2) == F(23, 9)


def test_one_place_and_a_prefix() -> None:
    target = rational_table(np.random.default_rng(4), 3, 3)
    assert one_pass_ceiling(target.__getitem__, gamma=1).tau == 2
    after = {text[1:]: law for text, law in target.items() if text[:1] == (2,)}
    whole, alone = (
        one_pass_ceiling(t.__getitem__, gamma=2, prefix=prefix) for t, prefix in ((target, (2,)), (after, ()))
    )
    assert (whole.tau, whole.rows.tolist()) == (alone.tau, alone.rows.tolist())


def test_all_continuations_give_the_bound_of_the_model() -> None:
    """Every text as often as the target writes it: the places are those of the enumeration."""
    table = {(): np.array([F(1, 2), F(1, 2)]), (0,): np.array([F(1, 4), F(3, 4)]), (1,): np.array([F(1), F(0)])}
    rows = np.array([[table[()], table[(v,)]] for v in (0, 1)])
    exact, sampled = one_pass_ceiling(table.__getitem__, gamma=2), one_pass_bound(rows)
    assert sampled.places.tolist() == exact.places.tolist()
    assert sampled.tau == exact.tau == sampled.any_rule
    assert sampled.rows[0].tolist() == table[()].tolist()


def test_sampled_bounds_hold_on_average() -> None:
    rng = np.random.default_rng(5)
    table = {text: law.astype(float) for text, law in rational_table(rng, 2, 3).items()}
    exact, found = one_pass_ceiling(table.__getitem__, gamma=3), []
    for _ in range(300):
        texts = [(int(rng.random() > table[()][0]),) for _ in range(4)]
        texts = [(*t, int(rng.random() > table[t][0])) for t in texts]
        found.append(one_pass_bound([[table[t[:i]] for i in range(3)] for t in texts]))
    assert np.mean([b.tau for b in found]) >= float(exact.tau) - 0.01
    assert np.mean([b.any_rule for b in found]) >= float(exact.any_rule) - 0.01


def test_bad_arguments_are_named() -> None:
    with pytest.raises(ValueError, match=r"^gamma is 4: .* texts are too many to try"):
        one_pass_ceiling(rational_table(np.random.default_rng(6), 4, 4).__getitem__, gamma=4)
    with pytest.raises(ValueError, match="all continuations must follow one context"):
        one_pass_bound([[[0.5, 0.5]], [[0.4, 0.6]]])
    with pytest.raises(ValueError, match=r"give laws along continuations, \(n, gamma, V\)"):
        one_pass_bound([[0.5, 0.5]])
    with pytest.raises(ValueError, match=r"^target\(\) has shape \(2, 2\); give one probability for each token"):
        one_pass_ceiling(lambda text: np.eye(2), gamma=2)
    with pytest.raises(ValueError, match=r"^target\(0,\) has 3 tokens and target\(\) has 2: the vocabularies differ"):
        one_pass_ceiling(lambda text: np.array([0.5, 0.5] if not text else [0.3, 0.3, 0.4]), gamma=2)


def test_of_three_places_the_last_two_are_a_pair() -> None:
    """A coin, its copy, and a third token of 3/4 or 1/4: 1 for the first draft, and 1 + 3/4 for the pair."""
    coin, heads, tails = [F(1, 2)] * 2, [F(1), F(0)], [F(0), F(1)]
    likely, rare = [F(3, 4), F(1, 4)], [F(1, 4), F(3, 4)]
    bound = one_pass_bound(np.array([[coin, heads, likely], [coin, tails, rare]]))
    assert bound.places.tolist() == [1, F(1, 2), F(3, 4)]
    assert (bound.tau, bound.any_rule) == (F(13, 4), F(15, 4))


def test_a_place_in_the_middle_holds_down_every_later_one() -> None:
    """A coin, its copy, and another coin: 1 + 1/2 for two drafts, and Pr[n >= 3] <= Pr[n >= 2] <= 3/4."""
    coin = np.array([F(1, 2), F(1, 2)])
    best = one_pass_ceiling(
        lambda text: np.array([F(text[0] == v) for v in (0, 1)]) if len(text) == 1 else coin, gamma=3
    )
    assert best.places.tolist() == [1, F(1, 2), 1]
    assert best.any_rule == 1 + F(3, 2) + F(3, 4)


def test_tokens_of_no_future_are_best_left_out() -> None:
    """Tokens 2 and 3 come with 1/10 each after any text, and end what can be drafted: the best second law has neither.

    It keeps 8/10 at three places; any law that has one of them keeps less.
    """
    parts = {(): (5, 5, 0, 0), (0,): (5, 3, 1, 1), (1,): (3, 5, 1, 1)}

    def target(text: tuple[int, ...]) -> Array:
        """Return the law after a text: from the third token on it is token 0, or 1 behind token 2 or 3."""
        after = (0, 10, 0, 0) if len(text) > 1 and text[1] > 1 else (10, 0, 0, 0)
        return np.array([F(part, 10) for part in parts.get(text, after)])

    best = one_pass_ceiling(target, gamma=4)
    assert best.tau == 1 + 1 + 3 * F(8, 10)
    assert best.rows[1].tolist() == [F(1, 2), F(1, 2), 0, 0]
