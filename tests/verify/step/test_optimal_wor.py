"""`optimal_wor`: the optimum of two drafts without replacement, reached; in bins nearly."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from specsim import acceptance_rate, discover, expected_kept, optimal_acceptance, optimum, output_law
from specsim.exact import tree as exact_tree
from specsim.exact.small_laws import rational_table
from specsim.trees import enumerate_trees, k_ary
from specsim.verify.step import optimal_wor

pytestmark = pytest.mark.fast
Array = Any
WOR = "without_replacement"


def rows(seed: int, vocab: int, spread: float = 1.0) -> tuple[Array, Array]:
    p, q = np.random.default_rng(seed).dirichlet(np.full(vocab, spread), 2)
    return p, q


def best(p: Array, q: Array) -> Array:
    return optimal_acceptance(p, q, num_drafts=2, scheme=WOR)


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("vocab", [2, 3, 6, 12, 40])
def test_the_optimum_is_reached(vocab: int, spread: float) -> None:
    p, q = (np.stack(w) for w in zip(*(rows(seed, vocab, spread) for seed in range(40)), strict=True))
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found == pytest.approx(best(p, q), abs=1e-12)
    assert np.abs(output_law(p[:5], q[:5], rule="optimal_wor", num_drafts=2) - p[:5]).max() < 1e-14 or vocab > 12


def test_more_than_without_weights_and_than_independent_drafts() -> None:
    p, q = rows(3, 8)
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found > acceptance_rate(p, q, rule="recursive_wor", num_drafts=2) + 0.01
    assert found > optimum(p, q, num_drafts=2).value


@pytest.mark.parametrize("seed", range(3))
def test_bins_cost_little_and_less_the_more_there_are(seed: int) -> None:
    p, q = rows(seed, 400)
    lost = [
        best(p, q) - acceptance_rate(p, q, rule="optimal_wor", num_drafts=2, params={"bins": bins})
        for bins in (4, 16, 64, 400)
    ]
    assert lost[0] > lost[1] > lost[2] > lost[3] - 1e-12
    assert lost[2] < 0.003
    assert abs(lost[3]) < 1e-9


@pytest.mark.parametrize("bins", [1, 5, 64])
def test_lossless_whatever_the_bins(bins: int) -> None:
    """The law of the chosen draft is a sum over all pairs, which the kernel is held against."""
    p, q = rows(11, 70, 0.3)
    plan = optimal_wor.prepare(p, q, 2, bins=bins)
    one, other = np.divmod(np.arange(70 * 70), 70)
    chance = np.where(one == other, 0, q[one] * q[other] / (1 - q[one]))
    law = optimal_wor.transition(plan, np.stack([one, other], axis=-1))
    assert np.abs(chance @ law - p).max() < 1e-14
    hits = chance @ (law[np.arange(4900), one] + law[np.arange(4900), other])
    assert optimal_wor.acceptance(plan) == pytest.approx(hits, abs=1e-13)


def test_a_likely_token_is_not_pooled() -> None:
    """q(x) = 1 - 1e-12: what the others have must not drown in the rounding of 1 - q(x)."""
    rest = np.linspace(1, 2, 99)
    q = np.concatenate([[1 - 1e-12], 1e-12 * rest / rest.sum()])
    p = np.full(100, 0.01)
    plan = optimal_wor.prepare(p, q, 2)
    assert plan.winners.sum() == pytest.approx(1, abs=1e-14)
    second = 0.5 * rest / rest.sum()  # almost every pair is the likely token and another
    assert (plan.winners[1:] > 0.1 * second).all()
    assert optimal_wor.acceptance(plan) == pytest.approx(best(p, q), abs=2e-3)


def test_the_last_token_repeats() -> None:
    plan = optimal_wor.prepare(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 2)
    assert optimal_wor.transition(plan, np.array([1, 1])).tolist() == [0.5, 0.5]
    assert acceptance_rate([0.5, 0.5], [0.0, 1.0], rule="optimal_wor", num_drafts=2) == 0.5


def test_three_drafts_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^rule 'optimal_wor' verifies 1 or 2 drafts drawn 'without_replacement', got nu"
    ):
        acceptance_rate([0.5, 0.5], [0.5, 0.5], rule="optimal_wor", num_drafts=3)
    with pytest.raises(ValueError, match=r"^bins must be"):
        optimal_wor.prepare(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 2, bins=0)


@pytest.mark.parametrize("rule", ["lifted", "tokenwise"])
def test_trees_gain_and_stay_lossless(rule: str) -> None:
    """Two children without replacement at every node: the law of a text in rationals, and more drafts are kept."""
    rng = np.random.default_rng(4)
    target, draft = (rational_table(rng, 3, 2) for _ in range(2))
    shape = k_ary((2, 1))
    drawn = enumerate_trees(draft.__getitem__, shape, scheme=WOR)
    module = discover.find("tree", rule)
    law = exact_tree.kept_law(module, target.__getitem__, drawn, step="optimal_wor")
    assert all(made == goal for _, made, goal in exact_tree.continued_law(law, target.__getitem__, 3))
    kept = [
        expected_kept(
            lambda text: target[text].astype(float),
            lambda text: draft[text].astype(float),
            rule=rule,
            scheme=WOR,
            step=step,
            parents=shape,
        )
        for step in ("recursive_wor", "optimal_wor")
    ]
    assert kept[1] > kept[0] + 0.01
