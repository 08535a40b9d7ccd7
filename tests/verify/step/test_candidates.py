"""Greedy verification with candidates (T50): the sets that engines take, the law, and the drift from greedy text."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim.testing.cases import random_laws
from specsim.types import Array, LossyStepRule
from specsim.verify.step import accept_k, relaxed

RULES: tuple[LossyStepRule, ...] = (relaxed, accept_k)
DELTAS = (Fraction(0), Fraction(1, 20), Fraction(1, 5), Fraction(3, 5), Fraction(1))


def by_rank(p: Array) -> list[int]:
    """Tokens in order of falling p, ties by id."""
    return sorted(range(len(p)), key=lambda v: (-p[v], v))


def kernel(p: Array, draft: int, topk: int, delta: Fraction) -> bool:
    """The test of TensorRT-LLM's kernel: the best token without the threshold, the others until one is below it."""
    order = by_rank(p)[:topk]
    threshold = p[order[0]] - delta
    for place, token in enumerate(order):
        if place > 0 and threshold > p[token]:
            return False
        if token == draft:
            return True
    return False


@pytest.mark.parametrize("topk", [1, 2, 3, 9])
def test_relaxed_takes_the_set_of_the_kernel(topk: int) -> None:
    for p, q in zip(*random_laws(5, 30, seed=50), strict=True):
        for delta in DELTAS:
            plan = relaxed.prepare(p, q, 1, topk, delta)
            assert plan.candidates.tolist() == [kernel(p, v, topk, delta) for v in range(5)]


@pytest.mark.parametrize("k", [1, 2, 3, 9])
@pytest.mark.parametrize("tolerance", [0, 0.1, 1.0, 5.0, 800.0])
def test_accept_k_takes_the_likeliest_within_the_tolerance(k: int, tolerance: float) -> None:
    for p, q in zip(*random_laws(5, 30, seed=51), strict=True):
        order = by_rank(p)
        near = [v for v in range(5) if p[v] and math.log(p[order[0]]) - math.log(p[v]) <= tolerance]
        wanted = {order[0]} if tolerance == 0 else set(order[:k]) & set(near)
        for rows in ((p, q), (p.astype(float), q.astype(float))):
            plan = accept_k.prepare(*rows, 1, k, tolerance)
            assert set(np.flatnonzero(plan.candidates)) == wanted


@pytest.mark.parametrize("rule", RULES)
def test_the_parts_of_the_theorem(rule: Any) -> None:
    for p, q in zip(*random_laws(5, 40, seed=52), strict=True):
        plan = rule.prepare(p, q)
        kept, top = set(np.flatnonzero(plan.candidates)), by_rank(p)[0]
        mass = sum(q[v] for v in kept)
        law = [q[v] * (v in kept) + (1 - mass) * (v == top) for v in range(5)]
        assert top in kept
        assert specsim.output_law(p, q, rule=rule).tolist() == law
        assert specsim.acceptance_rate(p, q, rule=rule) == mass
        assert rule.bias(plan) == sum(abs(a - b) for a, b in zip(law, p, strict=True)) / 2
        # Against greedy decoding: the acceptance that is added, the least there is.
        greedy = np.array([Fraction(v == top) for v in range(5)])
        assert specsim.total_variation(law, greedy) == mass - q[top]
        assert mass - q[top] == mass - specsim.optimal_acceptance(greedy, q)


def test_one_candidate_is_greedy() -> None:
    for p, q in zip(*random_laws(4, 20, seed=53), strict=True):
        for rule, params in ((relaxed, {"relaxed_topk": 1}), (accept_k, {"accept_tolerance": 0})):
            assert (specsim.output_law(p, q, rule=rule, params=params) == specsim.output_law(p, q, rule="greedy")).all()


def test_ties_with_the_best_pass_at_a_delta_of_zero() -> None:
    """In TensorRT-LLM as outside of thinking; speculators' fields say that a tolerance of 0 is k = 1."""
    p = np.array([Fraction(1, 5), Fraction(2, 5), Fraction(2, 5)])
    assert relaxed.prepare(p, p, 1, 2, 0).candidates.tolist() == [False, True, True]
    assert relaxed.prepare(p, p, 1, 1, 0).candidates.tolist() == [False, True, False]
    assert accept_k.prepare(p, p, 1, 2, 0).candidates.tolist() == [False, True, False]


def test_they_are_lossless_for_one_hot_targets_only() -> None:
    for name in ("relaxed", "accept_k"):
        assert not specsim.guarantee(name).lossless
        assert specsim.guarantee(name, temperature=0).lossless


@pytest.mark.parametrize("gamma", [1, 2, 3])
def test_the_drift_from_greedy_text(gamma: int) -> None:
    """Part 4, by every outcome of every draft: texts of four tokens whose rows depend on the place."""
    length, (targets, drafts) = 4, random_laws(3, 20, seed=gamma)
    for k in range(0, 20, length):
        p, q = targets[k : k + length], drafts[k : k + length]
        plans = [relaxed.prepare(*rows, 1, 2, Fraction(1, 4)) for rows in zip(p, q, strict=True)]
        tops = [int(plan.top) for plan in plans]
        extra = [relaxed.acceptance(plan) - plan.q[plan.top] for plan in plans]
        same = greedy_throughout(plans, tops, gamma)
        assert same >= math.prod(1 - delta for delta in extra)
        drafted = greedy_throughout(plans, tops, length)
        assert drafted == math.prod(1 - delta for delta in extra)


def greedy_throughout(plans: list[Any], tops: list[int], gamma: int) -> Fraction:
    """Probability that a text is the greedy one, by walking blocks of gamma drafts draft by draft."""

    def from_place(i: int, left: int) -> Fraction:
        if i == len(plans):
            return Fraction(1)
        if left == 0:  # the token after a whole block
            return from_place(i + 1, gamma)
        plan, sum_ = plans[i], Fraction(0)
        for x in range(3):
            if x == tops[i]:
                sum_ += plan.q[x] * from_place(i + 1, left - 1)
            elif not plan.candidates[x]:
                sum_ += plan.q[x] * from_place(i + 1, gamma)
        return sum_

    return from_place(0, gamma)


@pytest.mark.parametrize(
    ("rule", "params", "words"),
    [
        ("relaxed", {"relaxed_topk": 0}, "relaxed_topk must be at least 1"),
        ("relaxed", {"relaxed_delta": -1}, "relaxed_delta is -1; it must lie in"),
        ("accept_k", {"verifier_accept_k": 0}, "verifier_accept_k must be at least 1"),
        ("accept_k", {"accept_tolerance": -0.5}, "accept_tolerance is -0.5; it must lie in"),
    ],
)
def test_a_bad_parameter_ends_in_one_line(rule: str, params: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        specsim.acceptance_rate([0.5, 0.5], [0.1, 0.9], rule=rule, params=params)


def test_batches_are_their_rows() -> None:
    p, q = (w.astype(float).reshape(4, 5, 6) for w in random_laws(6, 20, seed=54))
    for rule in RULES:
        whole = rule.prepare(p, q)
        for i, j in itertools.product(range(4), range(5)):
            assert rule.bias(rule.prepare(p[i, j], q[i, j])) == rule.bias(whole)[i, j]
