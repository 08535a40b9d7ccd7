"""Importance sampling of several drafts: lossless with any number of live tokens, beside the published tournament."""

from __future__ import annotations

from fractions import Fraction
from functools import cache, partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from specsim import acceptance_rate, optimal_acceptance
from specsim.base.arrays import overlap
from specsim.checks.step import STEP_CHECKS, forked_is_transition
from specsim.draft import iid
from specsim.exact.step import enumerate_step
from specsim.testing.strategies import law_pairs
from specsim.verify.hits import draft_tuples
from specsim.verify.step import importance

Array = Any
PAIRS = st.integers(1, 5).flatmap(law_pairs)
TOY_P, TOY_Q = (np.array([Fraction(n, 3) for n in w]) for w in ((1, 2), (2, 1)))


def fractions(*numbers: str) -> Array:
    return np.array([Fraction(n) for n in numbers])


@cache  # one rule for all checks, which share what they enumerate
def with_live(live: int) -> Any:
    """The rule with that many live tokens."""
    return SimpleNamespace(**{**vars(importance), "prepare": partial(importance.prepare, live=live)})


def published(p: Array, first: Array, second: Array, live: int, prefer: Array = 0) -> tuple[float, Array]:
    """Khisti et al.'s program for two drafts of laws `first`, `second`: its value and a law of the winner.

    w[i, j] is the chance that i wins against j: a variable between live tokens, else 1 for the earlier in the order.
    Among optimal solutions it takes one that is large along `prefer`.
    """
    order = np.argsort(-(p - first * second), kind="stable")
    alive = order[:live]
    meet = np.outer(first, second) + np.outer(second, first)
    earlier = np.argsort(order)[:, None] < np.argsort(order)
    law = first * second + (meet * earlier).sum(axis=1)
    among, (i, j) = meet[np.ix_(alive, alive)], np.triu_indices(live, 1)  # w[j, i] = 1 - w[i, j]
    base = law[alive] - (among * earlier[np.ix_(alive, alive)]).sum(axis=1)
    np.add.at(base, j, among[i, j])
    places = np.arange(live)[:, None]
    wins = among[i, j] * ((places == i) * 1.0 - (places == j))  # the winner has the law base + wins @ w
    worth = np.concatenate([np.ones(live), 1e-3 * np.broadcast_to(prefer, live) @ wins])  # of min(p, winner), and of w
    limits = [(None, m) for m in p[alive]] + [(0, 1)] * len(i)
    found = linprog(-worth, A_ub=np.hstack([np.eye(live), -wins]), b_ub=base, bounds=limits, method="highs")
    law[alive] = base + wins @ found.x[live:]
    return float(np.minimum(p, law).sum()), law


def chosen(p: Array, q: Array, num_drafts: int, live: int) -> float:
    """sum min(p, w): the probability that the winner is kept."""
    return float(overlap(p, importance.prepare(p, q, num_drafts, live=live).winners))


def random_pairs(count: int) -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(0)
    return [tuple(rng.dirichlet(np.full(rng.integers(2, 8), rng.choice([0.3, 1, 3])), 2)) for _ in range(count)]


def test_two_drafts_reach_the_value_of_the_program() -> None:
    lost = 0
    for p, q in random_pairs(40):
        best = float(optimal_acceptance(p, q, num_drafts=2))
        for live in range(1, len(p) + 1):
            value = published(p, q, q, live)[0]
            assert chosen(p, q, 2, live) == pytest.approx(value, abs=1e-9)
            assert value <= best + 1e-9
            lost += value < best - 1e-3
        assert chosen(p, q, 2, len(p)) == pytest.approx(best, abs=1e-12)
    assert lost > 50


def test_more_drafts_differ_from_the_tournament() -> None:
    """K = 3: with all tokens live never below it, else on both sides; and its value is the solver's choice."""
    above, below, spread, whole = 0, 0, 0, 0
    rng = np.random.default_rng(1)
    for p, q in random_pairs(60):
        for live in {max(1, len(p) // 2), len(p)}:
            values = []
            for prefer in (np.zeros(live), rng.standard_normal(live), rng.standard_normal(live)):
                value, law = published(p, q, q, live, prefer)
                assert value == pytest.approx(chosen(p, q, 2, live), abs=1e-9)  # another solution, the same value
                values.append(published(p, law, q, live)[0])
            mine = chosen(p, q, 3, live)
            above += live == len(p) and mine > min(values) + 1e-3
            below += mine < min(values) - 1e-6
            spread += max(values) > min(values) + 1e-3
            if live == len(p):
                whole += 1
                assert mine >= max(values) - 1e-9
    assert whole == 60
    assert above
    assert below
    assert spread


@settings(max_examples=60)
@given(PAIRS, st.integers(1, 3), st.integers(1, 5))
def test_any_number_of_live_tokens_is_lossless(pair: tuple[Array, Array], num_drafts: int, live: int) -> None:
    """Output law, law of the winner, hit probability and the sampler, exactly; the optimum if all are live."""
    p, q = pair
    rule = with_live(live)
    law, hit = enumerate_step(rule, p, q, num_drafts)
    assert (law == p).all()
    plan = rule.prepare(p, q, num_drafts)
    best = optimal_acceptance(p, q, num_drafts=num_drafts)
    assert overlap(p, plan.winners) <= rule.acceptance(plan) == hit <= best
    assert live < len(p) or overlap(p, plan.winners) == hit == best
    kept_always = plan._replace(p=plan.winners + 0 * p)  # min(1, w/w): what is emitted is the winner
    tuples = draft_tuples(len(p), num_drafts)
    winner = (iid.probability(q, tuples, num_drafts)[:, None] * rule.transition(kept_always, tuples)).sum(axis=0)
    assert (winner == plan.winners).all()
    if len(p) ** num_drafts <= 27:
        forked_is_transition(rule, p, q, num_drafts)


@pytest.mark.parametrize("live", [1, 2])
@pytest.mark.parametrize(
    "check", sorted(STEP_CHECKS.keys() - {"contract", "same_on_every_backend", "sampler_is_transition"})
)
def test_few_live_tokens_pass_the_checks(check: str, live: int) -> None:
    """On small vocabularies the default of 15 leaves no token out. (The sampler: in the test before.)"""
    STEP_CHECKS[check](with_live(live))


def test_a_token_that_lost_can_be_recovered() -> None:
    """By hand, one live token, K = 2: the winner is kept with 73/100; the hit is larger."""
    p, q = fractions("1/2", "1/10", "4/10"), fractions("1/4", "1/2", "1/4")
    plan = importance.prepare(p, q, 2, live=1)
    # order 0, 2, 1: w = 1 - (3/4)^2, (3/4)^2 - (1/2)^2, (1/2)^2
    assert plan.winners.tolist() == fractions("7/16", "1/4", "5/16").tolist()
    assert overlap(p, plan.winners) == Fraction(7, 16) + Fraction(1, 10) + Fraction(5, 16)
    assert importance.acceptance(plan) == enumerate_step(with_live(1), p, q, 2)[1]


def test_truncation_can_be_worse_than_one_draft() -> None:
    """Flat laws: 15 live tokens win too often, the more drafts the more."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal(2000)
    p, q = (np.exp(2 * z) / np.exp(2 * z).sum(), np.exp(2 * z + 0.5 * rng.standard_normal(2000)))
    q = q / q.sum()
    rates = [float(acceptance_rate(p, q, rule="importance", num_drafts=k)) for k in (1, 2, 3)]
    assert rates[0] > rates[1] > rates[2]
    assert rates[0] == pytest.approx(float(overlap(p, q)), abs=1e-12)


@pytest.mark.parametrize("live", [0, -1])
def test_no_live_token_is_refused(live: int) -> None:
    with pytest.raises(ValueError, match=f"live must be at least 1, got {live}"):
        importance.prepare(TOY_P, TOY_Q, 2, live=live)


def test_gradient_in_the_draft_law_is_the_finite_difference() -> None:
    """K = 2, some tokens not live, away from ties."""
    jax = pytest.importorskip("jax")
    jax.config.update("jax_enable_x64", True)
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.ones(18), 2)
    move = rng.standard_normal(18) * q
    move -= q * move.sum()

    def rate(t: Array, library: Any = np.asarray) -> Array:
        return acceptance_rate(library(p), library(q) + t * move, rule="importance", num_drafts=2)

    h = 1e-6
    slope = float(jax.jit(jax.grad(partial(rate, library=jax.numpy.asarray)))(0.0))
    assert slope == pytest.approx((rate(h) - rate(-h)) / (2 * h), abs=1e-8)
    assert abs(slope) > 1e-3


def test_fewer_accepted_than_of_one_draft_is_said() -> None:
    """15 live tokens of 1,000 leave the others to win as they like: with 8 drafts a third less than with one."""
    p, q = np.random.default_rng(0).dirichlet(np.ones(1000), 2)
    q = (p + q) / 2
    with pytest.warns(
        UserWarning, match=r"^importance with num_drafts=8 and 15 of 1000 tokens live accepts 0\..* alone \(0\.7"
    ) as told:
        rate = acceptance_rate(p, q, rule="importance", num_drafts=8)
    assert rate < acceptance_rate(p, q)
    assert told[0].filename == __file__  # the line of whoever asked, not one of the package
    acceptance_rate(p, q, rule="importance", num_drafts=2)  # better than one: nothing to say
