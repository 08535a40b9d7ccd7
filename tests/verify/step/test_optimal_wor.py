"""`optimal_wor`: the optimum of two drafts without replacement, reached."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.wor_pairs import WOR, best, least_over_all_sets, peaked, rows

from specsim import acceptance_rate, discover, expected_kept, optimum, output_law
from specsim.exact import tree as exact_tree
from specsim.exact.small_laws import rational_table
from specsim.trees import enumerate_trees, k_ary
from specsim.verify.step import _pairs, optimal_wor, recursive_wor

Array = Any


@pytest.mark.parametrize("spread", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("vocab", [2, 3, 6, 12, 40])
def test_the_optimum_is_reached(vocab: int, spread: float) -> None:
    p, q = (np.stack(w) for w in zip(*(rows(seed, vocab, spread) for seed in range(40)), strict=True))
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found == pytest.approx(best(p, q), abs=1e-12)
    assert np.abs(output_law(p[:5], q[:5], rule="optimal_wor", num_drafts=2) - p[:5]).max() < 1e-14 or vocab > 12


@pytest.mark.parametrize("apart", [0.5, 2.0])
@pytest.mark.parametrize("temperature", [0.05, 0.1, 0.15, 0.2, 0.3])
@pytest.mark.parametrize("vocab", [5, 8, 20])
def test_the_optimum_is_reached_by_peaked_laws(vocab: int, temperature: float, apart: float) -> None:
    """Temperatures at which 16 steps, none above 2 in a logarithm, fell short by up to 0.07."""
    p, q = peaked(7, temperature, vocab, apart)
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found == pytest.approx(best(p, q), abs=1e-12)
    assert (found >= acceptance_rate(p, q, rule="recursive_wor", num_drafts=2) - 1e-14).all()


@pytest.mark.parametrize("apart", [0.5, 2.0])
@pytest.mark.parametrize("temperature", [0.1, 0.15, 0.2, 0.3])
def test_the_optimum_is_reached_by_peaked_laws_of_64_tokens(temperature: float, apart: float) -> None:
    p, q = peaked(8, temperature, 64, apart, count=60)
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found == pytest.approx(best(p, q), abs=1e-12)
    assert (found >= acceptance_rate(p, q, rule="recursive_wor", num_drafts=2) - 1e-14).all()


@pytest.mark.parametrize("temperature", [0.1, 0.2, 0.3])
def test_the_optimum_is_the_least_over_all_sets_of_eight_tokens(temperature: float) -> None:
    p, q = (np.concatenate(w) for w in zip(*(peaked(9, temperature, 8, apart) for apart in (0.5, 2.0)), strict=True))
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found == pytest.approx(least_over_all_sets(p, q), abs=1e-12)
    assert np.abs(output_law(p, q, rule="optimal_wor", num_drafts=2) - p).max() < 1e-14


def test_eight_tokens_at_temperature_a_tenth() -> None:
    """0.98449 once, where the optimum is 1."""
    target = np.array([2.3, 3.4, 0.6, -4.5, -2.6, 0.1, 3.0, -1.8])
    draft = np.array([2.9, 4.3, 0.2, -4.8, -3.0, -0.7, 2.7, -1.0])
    p, q = (w / w.sum() for w in (np.exp((logits - logits.max()) / 0.1) for logits in (target, draft)))
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found == pytest.approx(least_over_all_sets(p[None], q[None])[0], abs=1e-12)
    assert found == pytest.approx(1, abs=1e-11)


def test_drafts_that_are_almost_never_another_token() -> None:
    """0.99935 once, where the optimum is 1: what the others have of q is below the rounding of 1."""
    p, q = np.array([0.998, 0.002, 5e-16]), np.array([1 - 4.3e-16, 3.9e-16, 4.5e-17])
    assert acceptance_rate(p, q, rule="optimal_wor", num_drafts=2) == pytest.approx(1, abs=1e-12)


@pytest.mark.filterwarnings("error")
def test_denormal_laws_are_no_overflow() -> None:
    for least in (5e-324, 1e-310, 1e-300):
        p, q = np.array([0.5, 0.5 - 1e-9, 1e-9]), np.array([1.0, least, 0.0])
        for one, other in ((p, q), (q, p)):
            law = output_law(one, other, rule="optimal_wor", num_drafts=2)
            assert law == pytest.approx(one, abs=1e-15)


def test_as_many_steps_as_where_values_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """FIXED steps, which a GPU and JAX take, are enough at any temperature."""
    monkeypatch.setattr(_pairs, "STEPS", _pairs.FIXED)
    for seed, temperature in enumerate((0.05, 0.1, 0.2, 1.0)):
        p, q = peaked(seed, temperature, 12, 0.5)
        assert acceptance_rate(p, q, rule="optimal_wor", num_drafts=2) == pytest.approx(best(p, q), abs=1e-12)


def test_rationals_reach_it_too() -> None:
    """Fractions take the weights that floats have, and stay lossless to the last bit."""
    p, q = (np.array([[Fraction(x) for x in row] for row in w], dtype=object) for w in peaked(3, 0.1, 5, 0.5, count=3))
    p, q = (w / w.sum(axis=-1, keepdims=True) for w in (p, q))
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2).astype(float)
    assert found == pytest.approx(best(p, q).astype(float), abs=1e-12)
    assert (output_law(p, q, rule="optimal_wor", num_drafts=2) == p).all()


def test_more_than_without_weights_and_than_independent_drafts() -> None:
    p, q = rows(3, 8)
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert found > acceptance_rate(p, q, rule="recursive_wor", num_drafts=2) + 0.01
    assert found > optimum(p, q, num_drafts=2).value


def test_both_rules_of_one_plan_are_verified_as_they_are() -> None:
    """Kernel and token of the recursive rule where a plan names it, those of the weights elsewhere."""
    p, q = peaked(3, 0.3, 100, 2.0, count=8)
    plan = optimal_wor.prepare(p, q, 2)._replace(recursive=np.arange(8) % 3 == 0)
    assert plan.recursive is not None
    rng = np.random.default_rng(5)
    drafts = np.argsort(-(rng.gumbel(size=(50, *q.shape)) + np.log(q)), axis=-1)[..., :2]
    u = rng.random((50, len(q), 3))
    recursive, weighted, chosen = recursive_wor.prepare(p, q, 2), plan._replace(recursive=None), plan.recursive
    law = recursive_wor.transition(recursive, drafts), optimal_wor.transition(weighted, drafts)
    token = recursive_wor.verify(recursive, drafts, u), optimal_wor.verify(weighted, drafts, u)
    rate = recursive_wor.acceptance(recursive), optimal_wor.acceptance(weighted)
    assert np.array_equal(optimal_wor.transition(plan, drafts), np.where(chosen[:, None], *law))
    assert np.array_equal(optimal_wor.verify(plan, drafts, u), np.where(chosen, *token))
    assert np.array_equal(optimal_wor.acceptance(plan), np.where(chosen, *rate))
    assert (token[0] != token[1]).any()


def test_rounding_does_not_choose_between_equal_rules() -> None:
    """Where both keep as much, up to rounding that is another in JAX, it is the weights that verify."""
    p, q = peaked(3, 0.05, 100, 2.0, count=40)
    plan = optimal_wor.prepare(p, q, 2)
    more = recursive_wor.acceptance_of_two(p, q) - optimal_wor.acceptance(plan._replace(recursive=None))
    assert plan.recursive is not None
    assert ((more > 0) & (more < 1e-13)).any()
    assert not plan.recursive.any()


def test_jax_chooses_the_same_rule_and_tokens() -> None:
    """Peaked laws on which both rules reach the optimum, so that rounding alone would choose, and others."""
    jax = pytest.importorskip("jax")
    p, q = (np.concatenate(w) for w in zip(*(peaked(3, t, 100, 2.0, count=4) for t in (0.05, 0.3)), strict=True))
    rng = np.random.default_rng(5)
    drafts, u = np.argsort(-(rng.gumbel(size=q.shape) + np.log(q)), axis=-1)[:, :2], rng.random((len(q), 3))

    def told(p: Array, q: Array, drafts: Array, u: Array) -> tuple[Array, Array, Array]:
        plan = optimal_wor.prepare(p, q, 2)
        return plan.recursive, optimal_wor.verify(plan, drafts, u), optimal_wor.acceptance(plan)

    with jax.enable_x64(True):
        recursive, tokens, rates = (np.asarray(w) for w in jax.jit(told)(p, q, drafts, u))
    ours = told(p, q, drafts, u)
    assert (recursive.tolist(), tokens.tolist()) == (ours[0].tolist(), ours[1].tolist())
    assert rates == pytest.approx(ours[2], abs=1e-12)


def test_a_likely_token_is_not_pooled() -> None:
    """q(x) = 1 - 1e-12: what the others have must not drown in the rounding of 1 - q(x)."""
    rest = np.linspace(1, 2, 99)
    q = np.concatenate([[1 - 1e-12], 1e-12 * rest / rest.sum()])
    p = np.full(100, 0.01)
    plan = optimal_wor.prepare(p, q, 2)
    assert plan.winners.sum() == pytest.approx(1, abs=1e-14)
    second = 0.5 * rest / rest.sum()  # almost every pair is the likely token and another
    assert (plan.winners[1:] > 0.1 * second).all()
    assert optimal_wor.acceptance(plan) == pytest.approx(best(p, q), abs=1e-12)


def test_the_last_token_repeats() -> None:
    plan = optimal_wor.prepare(np.array([0.5, 0.5]), np.array([0.0, 1.0]), 2)
    assert optimal_wor.transition(plan, np.array([1, 1])).tolist() == [0.5, 0.5]
    assert acceptance_rate([0.5, 0.5], [0.0, 1.0], rule="optimal_wor", num_drafts=2) == 0.5


def test_three_drafts_are_refused() -> None:
    with pytest.raises(
        ValueError, match=r"^rule 'optimal_wor' verifies 1 or 2 drafts drawn 'without_replacement', got nu"
    ):
        acceptance_rate([0.5, 0.5], [0.5, 0.5], rule="optimal_wor", num_drafts=3)
    with pytest.raises(ValueError, match=r"^few must be"):
        optimal_wor.prepare(np.array([0.5, 0.5]), np.array([0.5, 0.5]), 2, few=0)


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
