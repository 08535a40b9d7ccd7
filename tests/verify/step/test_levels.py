"""`optimal_wor` on many tokens, which are placed between levels: the optimum reached, certified, and lossless."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import table_wor_levels
from helpers.wor_pairs import WOR, best, least_over_all_sets, peaked, rows

from specsim import acceptance_rate, optimal_coupling, optimum, output_law
from specsim.checks.step import STEP_CHECKS
from specsim.verify.step import _levels, _pairs, optimal_wor

Array = Any


def on_levels() -> ModuleType:
    """The rule that places every row between levels, of few tokens too."""
    rule = ModuleType("on_levels")
    rule.__dict__.update(vars(optimal_wor))
    rule.prepare = lambda p, q, num_drafts: optimal_wor.prepare(p, q, num_drafts, few=1)  # type: ignore[attr-defined]
    return rule


def law_of_pairs(q: Array) -> tuple[Array, Array, Array]:
    """All pairs of different tokens, and the probability that they are the drafts, in this order."""
    one, other = np.nonzero(~np.eye(len(q), dtype=bool))
    return one, other, q[one] * q[other] / (1 - q[one])


def zipf(vocab: int, exponent: float, other: float) -> tuple[Array, Array]:
    """Laws r^-exponent and r^-other of the rank r; ranks of the draft differ from the target's by about a third."""
    rank = np.arange(1, vocab + 1.0)
    moved = np.argsort(rank * np.exp(np.random.default_rng(vocab).normal(0, 0.3, vocab)))
    p, q = rank**-exponent, rank[moved] ** -other
    return p / p.sum(), q / q.sum()


# What is lost may be 2.9e-14 by wins, and as much by the rounding of sums over 32,000 tokens.
NEAR = 1e-13


@pytest.mark.parametrize("spread", [0.1, 1.0])
@pytest.mark.parametrize("vocab", [65, 400, 2048, 32_000])
def test_the_optimum_is_reached_by_many_tokens(vocab: int, spread: float) -> None:
    """Weights that tokens of almost the same p/q shared lost 1e-3 to 2e-3 of it."""
    p, q = rows(vocab, vocab, spread)
    assert acceptance_rate(p, q, rule="optimal_wor", num_drafts=2) == pytest.approx(best(p, q), abs=NEAR)


@pytest.mark.parametrize(("exponent", "other"), [(1.0, 1.0), (1.5, 1.2), (0.8, 2.0)])
def test_the_optimum_is_reached_by_zipf_laws(exponent: float, other: float) -> None:
    p, q = zipf(32_000, exponent, other)
    assert acceptance_rate(p, q, rule="optimal_wor", num_drafts=2) == pytest.approx(best(p, q), abs=NEAR)


def test_a_step_is_shortened_as_a_whole() -> None:
    """Where each height was cut by itself, the method stopped 6e-4 below the optimum."""
    rank = np.arange(1, 1353.0)
    p, q = rank**-1.38, rank**-0.99
    p, q = p / p.sum(), q / q.sum()
    assert acceptance_rate(p, q, rule="optimal_wor", num_drafts=2) == pytest.approx(best(p, q), abs=NEAR)


@pytest.mark.parametrize("apart", [0.1, 0.5, 2.0])
@pytest.mark.parametrize("temperature", [0.02, 0.05, 0.1, 0.2, 0.3])
@pytest.mark.parametrize("vocab", [65, 300])
def test_the_optimum_is_reached_by_peaked_laws_of_many_tokens(vocab: int, temperature: float, apart: float) -> None:
    """Laws on which shared weights lost up to 0.02, and fell below `recursive_wor` by up to 0.01."""
    p, q = peaked(3, temperature, vocab, apart, count=15)
    plan = optimal_wor.prepare(p, q, 2)
    assert optimal_wor.acceptance(plan) == pytest.approx(best(p, q), abs=NEAR)
    assert plan.gap == pytest.approx(0, abs=NEAR)
    assert plan.recursive is not None
    assert not plan.recursive.any()


def test_two_heavy_tokens_and_many_light_ones() -> None:
    """Almost every pair is the two."""
    rest = 1e-8 * np.random.default_rng(80).dirichlet(np.ones(791), 2)
    p, q = rest.copy()
    q[:2] += (1 - 1e-8) / 2
    p[1] += 1 - 1e-8
    assert acceptance_rate(p, q, rule="optimal_wor", num_drafts=2) == pytest.approx(best(p, q), abs=NEAR)


@pytest.mark.parametrize("temperature", [0.2, 1.0])
def test_few_tokens_on_levels_reach_the_least_over_all_sets(temperature: float) -> None:
    p, q = (
        np.concatenate(w)
        for w in zip(*(peaked(9, temperature, 8, apart, count=8) for apart in (0.5, 2.0)), strict=True)
    )
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2, params={"few": 1})
    assert found == pytest.approx(least_over_all_sets(p, q), abs=NEAR)


@pytest.mark.slow  # the solver; its twin is the test above
def test_few_tokens_on_levels_reach_the_linear_programme() -> None:
    pytest.importorskip("cvxpy")
    for seed in range(3):
        p, q = rows(seed, 5, 0.5)
        found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2, params={"few": 1})
        coupling = optimal_coupling(p, q, num_drafts=2, scheme=WOR)
        assert found == pytest.approx(coupling.value, abs=coupling.gap + 1e-9)


# The certificate, whatever weights there are.


@pytest.mark.parametrize("steps", [0, 1, 2, 64])
def test_the_gap_is_what_is_lost_at_any_step(steps: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound is a set's, the value a sum over all pairs: neither is taken from the plan."""
    monkeypatch.setattr(_pairs, "STEPS", steps)
    p, q = (w[0] for w in peaked(5, 1.0, 90, 0.5, count=1))
    plan = optimal_wor.prepare(p, q, 2)._replace(recursive=None)
    one, other, chance = law_of_pairs(q)
    first = optimal_wor._first(plan, np.stack([one, other], axis=-1))
    winners = np.bincount(one, chance * first, len(q)) + np.bincount(other, chance * (1 - first), len(q))
    assert np.abs(plan.winners - winners).max() < 1e-15
    proof = optimum(p, q, num_drafts=2, scheme=WOR).certificate
    within = chance[proof[one] & proof[other]].sum()
    gap = 1 + p[proof].sum() - within - np.minimum(p, winners).sum()
    assert plan.gap == pytest.approx(gap, abs=1e-13)
    assert (plan.gap > 1e-3) == (steps < 64)
    assert best(p, q) - plan.gap - 1e-13 <= optimal_wor.acceptance(plan) <= best(p, q) + 1e-13


def test_no_steps_are_no_loss_against_recursive_rejection(monkeypatch: pytest.MonkeyPatch) -> None:
    """Were the method to fail, rows on which `recursive_wor` keeps more would be verified by it."""
    monkeypatch.setattr(_pairs, "STEPS", 0)
    p, q = peaked(3, 0.2, 100, 0.5, count=12)
    recursive = optimal_wor.prepare(p, q, 2).recursive
    assert recursive is not None
    assert recursive.any()
    assert not recursive.all()
    found = acceptance_rate(p, q, rule="optimal_wor", num_drafts=2)
    assert (found >= acceptance_rate(p, q, rule="recursive_wor", num_drafts=2) - NEAR).all()
    assert np.abs(output_law(p[:2, :], q[:2, :], rule="optimal_wor", num_drafts=2) - p[:2]).max() < 1e-14


def test_as_many_steps_as_where_values_are_not_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """FIXED steps, which a GPU and JAX take, are enough at any temperature."""
    monkeypatch.setattr(_pairs, "STEPS", _pairs.FIXED)
    for seed, temperature in enumerate((0.02, 0.05, 0.1, 0.2, 1.0)):
        p, q = peaked(seed, temperature, 150, 0.5, count=8)
        assert acceptance_rate(p, q, rule="optimal_wor", num_drafts=2) == pytest.approx(best(p, q), abs=NEAR)


# Lossless.


@pytest.mark.parametrize("is_recursive", [False, True])
@pytest.mark.parametrize("few", [1, 70])
def test_lossless_whatever_the_weights(few: int, is_recursive: bool) -> None:
    """The law of the chosen draft is a sum over all pairs, which the kernel is held against; by either rule."""
    p, q = rows(11, 70, 0.3)
    plan = optimal_wor.prepare(p, q, 2, few=few)._replace(recursive=np.array(is_recursive))
    one, other, chance = law_of_pairs(q)
    law = optimal_wor.transition(plan, np.stack([one, other], axis=-1))
    assert np.abs(chance @ law - p).max() < 1e-14
    each = np.arange(len(one))
    assert optimal_wor.acceptance(plan) == pytest.approx(chance @ (law[each, one] + law[each, other]), abs=1e-13)


def test_rationals_on_levels_are_lossless_and_near_the_optimum() -> None:
    p, q = (np.array([[Fraction(x) for x in row] for row in w], dtype=object) for w in peaked(3, 0.3, 5, 0.5, count=2))
    p, q = (w / w.sum(axis=-1, keepdims=True) for w in (p, q))
    told: Any = {"rule": "optimal_wor", "num_drafts": 2, "params": {"few": 1}}
    assert (output_law(p, q, **told) == p).all()
    found = acceptance_rate(p, q, **told)
    assert found.astype(float) == pytest.approx(best(p, q).astype(float), abs=NEAR)
    assert (found >= acceptance_rate(p, q, rule="recursive_wor", num_drafts=2)).all()


def test_chances_of_levels_are_opposite_and_grow_with_height() -> None:
    table = _levels.wins(np.array([Fraction(1)], dtype=object))
    assert (table + table.T == 1).all()
    assert (np.diff(table.astype(float), axis=0) >= 0).all()
    assert np.abs(table.astype(float) - _levels.wins(np.ones(1))).max() < 1e-15


LAWS = ["transition_is_a_law", "output_is_target", "acceptance_is_exact", "sampler_is_transition"]


@pytest.mark.slow  # thousands of pairs, each planned by itself; its twin is the test of rationals above
@pytest.mark.parametrize("check", [*LAWS, "batches", "same_on_every_backend"])
def test_step_checks_on_levels(check: str) -> None:
    checked: Callable[[ModuleType], None] = STEP_CHECKS[check]
    checked(on_levels())


def test_the_record_is_what_the_code_gives() -> None:
    text = (table_wor_levels.HERE / "wor_levels.txt").read_text(encoding="utf-8")
    note = table_wor_levels.HERE.parents[1] / "proofs" / "T38_without_replacement_reached.md"
    assert text in note.read_text(encoding="utf-8")
    for name, vocab in (("uniform", 512), ("zipf", 2048)):
        assert table_wor_levels.line(name, *table_wor_levels.drawn(name, vocab)) in text.splitlines()
