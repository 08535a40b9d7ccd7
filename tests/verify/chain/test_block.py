"""Block verification, plain and greedy: published lengths, optimality, orders, and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import acceptance_rate, block_efficiency, expected_tokens, guarantee
from specsim.exact import chain as exact_chain
from specsim.exact.chain import blocks, strong_law, target_law
from specsim.exact.small_laws import rational_table
from specsim.testing.strategies import law_pairs
from specsim.verify.chain import block, greedy_block, tokenwise

Array = Any
TOY_P, TOY_Q = [Fraction(1, 3), Fraction(2, 3)], [Fraction(2, 3), Fraction(1, 3)]
RULES = {"tokenwise": tokenwise, "block": block, "greedy_block": greedy_block}


def tables(vocab: int, gamma: int, seed: int) -> tuple[Any, Any]:
    rng = np.random.default_rng([vocab, gamma, seed])
    return rational_table(rng, vocab, gamma), rational_table(rng, vocab, gamma)


def test_published_lengths_on_the_toy() -> None:
    """Sun et al., arXiv:2403.10444, and theory/verification.md 12: E[n] tokenwise, block, full information."""
    published = {1: ("2/3",) * 3, 2: ("10/9", "11/9", "4/3")}
    for gamma, wanted in published.items():
        for rule, kept in zip(RULES, wanted, strict=True):
            assert expected_tokens(TOY_P, TOY_Q, gamma=gamma, rule=rule) == 1 + Fraction(kept)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize(("vocab", "gamma"), [(2, 0), (2, 3), (3, 2), (3, 3)])
def test_tau_is_that_of_the_enumerated_block(rule: str, vocab: int, gamma: int) -> None:
    for seed in range(3):
        target, draft = tables(vocab, gamma, seed)
        tau = expected_tokens(target.__getitem__, draft.__getitem__, gamma=gamma, rule=rule)
        assert tau == 1 + strong_law(RULES[rule], target, draft, gamma)[1]


@given(st.integers(1, 4).flatmap(law_pairs), st.integers(0, 5))
def test_a_law_is_a_model_that_forgets_its_context(pair: tuple[Array, Array], gamma: int) -> None:
    p, q = pair
    for rule in RULES:
        tau = expected_tokens(p, q, gamma=gamma, rule=rule)
        if gamma <= 4:  # of six lengths, five
            assert tau == expected_tokens(lambda _: p, lambda _: q, gamma=gamma, rule=rule)
        floats = expected_tokens(p.astype(float), q.astype(float), gamma=gamma, rule=rule)
        assert abs(floats - float(tau)) < 1e-12


def test_long_blocks_of_floats() -> None:
    """At gamma = 60 there are 2^60 blocks but few weights; merging them keeps twelve digits."""
    p, q = [0.3, 0.7], [0.6, 0.4]
    exact = expected_tokens(*([Fraction(v).limit_denominator(10) for v in w] for w in (p, q)), gamma=60, rule="block")
    assert expected_tokens(p, q, gamma=60, rule="block") == pytest.approx(float(exact), rel=1e-12)
    beta = float(acceptance_rate(p, q))
    assert expected_tokens(p, q, gamma=60) == pytest.approx(float(block_efficiency(beta, gamma=60)), rel=1e-12)


@settings(max_examples=50)
@given(st.data())
def test_order_of_the_rules(data: st.DataObject) -> None:
    """tokenwise <= block <= full information, draft by draft and not only on average."""
    vocab, gamma = data.draw(st.sampled_from([(2, 2), (2, 3), (3, 2)]))
    target, draft = tables(vocab, gamma, data.draw(st.integers(0, 10**6)))
    survival = []
    for rule in RULES.values():
        law = blocks(rule, target, draft, gamma)
        survival.append([sum(m for out, m in law.items() if len(out) > i) for i in range(1, gamma + 1)])
    assert all(a <= b <= c for a, b, c in zip(*survival, strict=True))


@pytest.mark.parametrize(("vocab", "gamma"), [(2, 2), (2, 3), (3, 2)])
def test_full_information_is_what_greedy_block_keeps(vocab: int, gamma: int) -> None:
    for seed in range(5):
        target, draft = tables(vocab, gamma, seed)
        bound = Fraction(0)
        for i in range(1, gamma + 1):
            p, q = target_law(target, i), target_law(draft, i)
            bound += sum(min(p[x], q[x]) for x in p)
        assert strong_law(greedy_block, target, draft, gamma)[1] == bound


@pytest.mark.parametrize(("vocab", "gamma"), [(2, 3), (3, 2)])
def test_block_is_the_optimum_of_the_linear_program(vocab: int, gamma: int) -> None:
    """A(x) = P(drafts start with x and all of x is kept): A(xy) <= min(Q(xy), A(x) p(y|x)) for every rule that keeps a
    prefix and goes on from the target (T17). The largest sum of A is the E[n] of block verification."""
    for seed in range(4):
        target, draft = tables(vocab, gamma, seed)
        q = {x: m for i in range(gamma + 1) for x, m in target_law(draft, i).items()}
        index = {x: k for k, x in enumerate(q)}
        a = cp.Variable(len(q), nonneg=True)
        limits = [a[0] <= 1]
        for i, y in itertools.product([x for x in index if len(x) < gamma], range(vocab)):
            child = index[(*i, y)]
            limits += [a[child] <= float(q[(*i, y)]), a[child] <= a[index[i]] * float(target[i][y])]
        best = cp.Problem(cp.Maximize(cp.sum(a[1:])), limits).solve(solver="HIGHS")
        kept = strong_law(block, target, draft, gamma)[1]
        assert best == pytest.approx(float(kept), abs=1e-7)


def test_going_on_plainly_after_a_greedy_block_is_lossy() -> None:
    """theory/verification.md 2.2: on the toy at gamma = 2, TV 1/9."""
    prefixes = [x for n in range(3) for x in np.ndindex(*(2,) * n)]
    p, q = (np.array(w, dtype=object) for w in (TOY_P, TOY_Q))
    target, draft = dict.fromkeys(prefixes, p), dict.fromkeys(prefixes, q)
    law, goal = dict.fromkeys(target_law(target, 3), Fraction(0)), target_law(target, 3)
    for out, mass in blocks(greedy_block, target, draft, 2).items():
        for text in law:
            if text[: len(out)] == out:
                law[text] += mass * np.prod([p[y] for y in text[len(out) :]], dtype=object)
    assert sum(max(goal[x] - law[x], 0) for x in law) == Fraction(1, 9)
    assert strong_law(greedy_block, target, draft, 2)[0] == goal


def test_greedy_block_is_lossless_with_its_continuation() -> None:
    assert guarantee("greedy_block").lossless
    assert guarantee("block").lossless


@pytest.mark.parametrize(("vocab", "gamma"), [(2, 3), (3, 3)])
def test_what_underflows_costs_no_more_than_it_was(vocab: int, gamma: int) -> None:
    """T17, with floors that can be seen: weights below one become 0, and E[n] falls by at most floor * gamma."""
    for floor in (Fraction(1, 2), Fraction(1, 8)):

        def flushed(weight: Array, ratio: Array, floor: Fraction = floor) -> Array:
            exact = block.advance(weight, ratio)
            return np.where(exact < floor, 0, exact)

        lost = []
        for seed in range(6):
            models = [table.__getitem__ for table in tables(vocab, gamma, seed)]
            less = exact_chain._tau_of_models(SimpleNamespace(advance=flushed), *models, gamma)
            lost.append(expected_tokens(*models, gamma=gamma, rule="block") - less)
        assert 0 <= min(lost) <= max(lost) <= floor * gamma
        assert max(lost) > 0 or floor < Fraction(1, 2)


def test_survival_of_wild_ratios() -> None:
    """Products beyond the floats: no warning, and 0 where a ratio is 0."""
    ratio = np.array([1e10] * 40 + [0.0])
    assert block.survival(ratio).tolist() == [1.0] * 40 + [0.0]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((TOY_P, TOY_Q, -1, "block"), ValueError, "gamma must be at least 0, got -1"),
        (
            (TOY_P, TOY_Q, 2, "blocks"),
            ValueError,
            "rule 'blocks' is unknown; did you mean 'block'[?] chain rules: block, capped, greedy_block",
        ),
        ((TOY_P, lambda _: TOY_Q, 2, "block"), TypeError, "must both be models"),
        (([TOY_P], TOY_Q, 2, "block"), ValueError, r"must be one law each, got shapes \(1, 2\), \(2,\)"),
        ((lambda _: [0.5, 0.4], lambda _: [0.5, 0.5], 1, "block"), ValueError, r"target\(\) sums to 0.9"),
        (
            (lambda x: [1 / (2 + len(x))] * (2 + len(x)),) * 2 + (2, "block"),
            ValueError,
            r"^target\(0,\) has 3 tokens and",
        ),
        ((lambda _: TOY_P, lambda _: TOY_Q, 30, "block"), ValueError, r"2\^30 drafted blocks are too many"),
        ((np.full(2000, 1 / 2000), np.arange(2000) / 1999000, 4, "block"), ValueError, r"meets \d+ weights times"),
    ],
)
def test_bad_input(arguments: tuple[Any, Any, int, str], error: type[Exception], message: str) -> None:
    target, draft, gamma, rule = arguments
    with pytest.raises(error, match=message):
        expected_tokens(target, draft, gamma=gamma, rule=rule)


def test_a_token_of_probability_zero_is_not_kept_where_its_ratio_underflows() -> None:
    """Joint ratio 0/(0.3/0.9 x 5e-324), which rounds to 0/0: that is no 0/0, and does not always pass."""
    p = np.array([[0.9, 0.1, 0], [0.5, 0.5, 0], [0.5, 0.5, 0]])
    q = np.array([[0.3, 0.7, 0], [0.5, 0.5, 5e-324]])
    for rule in RULES.values():
        law = rule.transition(rule.prepare(p, q), np.array([0, 2]))
        assert law[2].sum() == 0
        assert law.sum() == pytest.approx(1)


def test_ratios_beyond_floats() -> None:
    """p/q = 1/5e-324 is more than floats hold; infinity times a weight of 0 would be no number."""
    p, q = np.array([1.0, 0, 0]), np.array([5e-324, 0.5, 0.5])
    model = {"target": lambda _: p, "draft": lambda _: q}
    for rule in RULES:
        assert expected_tokens(p, q, gamma=3, rule=rule) == 1
        assert expected_tokens(**model, gamma=2, rule=rule) == 1
    assert acceptance_rate([0, 0.5, 0.5], [1, 1e-310, 5e-324], rule="recursive_wor", num_drafts=2) >= 0


def test_lengths_of_rows_that_sum_to_a_little_more_than_one() -> None:
    p = np.full(4, 0.25) + np.array([9e-7, 0, 0, 0])
    for rule in RULES:
        assert expected_tokens(p, p, gamma=3, rule=rule) == 4
