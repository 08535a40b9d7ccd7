"""FLy (T52): its law against the engine's loops, the bias of the first token, and what follows a deferred one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import specsim
from specsim.exact.small_laws import rational_laws
from specsim.types import Array
from specsim.verify.chain import tokenwise
from specsim.verify.lossy import fly

LAWS = rational_laws(3, 3)


def blocks(count: int, gamma: int, laws: Array = LAWS) -> Iterator[tuple[Array, Array]]:
    """Rows of blocks that depend on the place alone."""
    rng = np.random.default_rng(52)
    for _ in range(count):
        yield laws[rng.integers(len(laws), size=gamma + 1)], laws[rng.integers(len(laws), size=gamma)]


def top_entropy(p: Array, k: int) -> float:
    likeliest = sorted(map(float, p), reverse=True)[:k]
    return -sum(mass * math.log(mass) for mass in likeliest if mass)


def kept(passed: tuple[bool, ...], may: list[bool], window: int) -> int:
    """Number of drafts that are kept, by vLLM's pre-pass: each refused draft looks at the window behind it."""
    decided = list(passed)
    for i in range(len(passed)):
        behind = range(i + 1, i + window + 1)
        if not passed[i] and may[i] and i + window < len(passed) and all(passed[j] for j in behind):
            decided[i] = True
    return decided.index(False) if False in decided else len(decided)


def by_hand(p: Array, q: Array, drafts: Any, params: dict[str, Any]) -> Array:
    """The law of (number accepted, token), summed over which drafts pass."""
    gamma, greedy = len(q), params["greedy"]
    tops = [int(np.argmax(row)) for row in p]
    may = [
        top_entropy(p[i], params["fly_entropy_top_k"]) >= params["fly_entropy_threshold"] and p[i][x] > 0
        for i, x in enumerate(drafts)
    ]
    rates = [Fraction(x == tops[i]) if greedy else min(Fraction(1), p[i][x] / q[i][x]) for i, x in enumerate(drafts)]
    law = np.full((gamma + 1, p.shape[-1]), Fraction(0))
    for passed in itertools.product((False, True), repeat=gamma):
        weight = math.prod(a if yes else 1 - a for a, yes in zip(rates, passed, strict=True))
        n = kept(passed, may, params["fly_window_size"])
        left = p[n] if n == gamma else np.array([max(a - b, 0) for a, b in zip(p[n], q[n], strict=True)])
        left = left if sum(left) else p[n]
        row = [Fraction(v == tops[n]) for v in range(p.shape[-1])] if greedy else [v / sum(left) for v in left]
        law[n] += weight * np.array(row)
    return law


@pytest.mark.parametrize("greedy", [False, True])
@pytest.mark.parametrize(("gamma", "window"), [(1, 1), (2, 1), (3, 1), (3, 2), (4, 2), (4, 3), (4, 5)])
def test_the_law_is_that_of_the_engines_loops(gamma: int, window: int, greedy: bool) -> None:
    for threshold in (0.0, 0.5, 0.7, 1.0):
        for p, q in blocks(6 if gamma < 4 else 2, gamma):
            params = {
                "fly_window_size": window,
                "fly_entropy_threshold": threshold,
                "fly_entropy_top_k": 2,
                "greedy": greedy,
            }
            for drafts in itertools.product(*(np.flatnonzero(row).tolist() for row in q)):
                law = fly.transition(fly.prepare(p, q, **params), np.array(drafts))
                assert (law == by_hand(p, q, drafts, params)).all()


def first_token(p: Array, q: Array, plan: Any) -> tuple[Array, Fraction]:
    """The law of the first token of a block, and the probability that it is the draft."""
    law, hit = np.full(p.shape[-1], Fraction(0)), Fraction(0)
    for drafts in itertools.product(*(np.flatnonzero(row).tolist() for row in q)):
        weight = math.prod(row[x] for row, x in zip(q, drafts, strict=True))
        joint = fly.transition(plan, np.array(drafts))
        law = law + weight * joint[0]
        law[drafts[0]] += weight * joint[1:].sum()
        hit += weight * joint[1:].sum()
    return law, hit


@pytest.mark.parametrize(("gamma", "window"), [(2, 1), (3, 1), (3, 2)])
def test_the_bias_of_the_first_token_is_what_its_acceptance_costs(gamma: int, window: int) -> None:
    biased = 0
    for p, q in blocks(30, gamma):
        plan = fly.prepare(p, q, window, 0.6)
        law, hit = first_token(p, q, plan)
        far = specsim.total_variation(law, p[0])
        assert fly.bias(plan) == far == hit - sum(map(min, p[0], q[0]))
        biased += far > 0
        # With `greedy` against the argmax, where the price is that of T50.
        greedy = fly.prepare(p, q, window, 0.6, greedy=True)
        top = int(np.argmax(p[0]))
        law, hit = first_token(p, q, greedy)
        assert fly.bias(greedy) == 1 - law[top] == hit - q[0][top]
    assert biased > 0


def test_tokens_after_a_deferred_one_are_not_the_targets() -> None:
    """The smallest case: a fair coin after a deferred token shows one side only."""
    half, sure = np.array([Fraction(1, 2)] * 2), np.array([Fraction(1), Fraction(0)])
    p, q = np.stack([half, half, half]), np.stack([sure, sure])
    # q at both places is sure of 0, p is a fair coin: the first draft fails half of the time.
    plan = fly.prepare(p, q, 1, 0.6)
    law = fly.transition(plan, np.array([0, 0]))
    assert law.sum(axis=-1).tolist() == [Fraction(1, 4), Fraction(1, 4), Fraction(1, 2)]
    # Of the texts that begin with a deferred 0, of weight 1/4, all go on with 0.
    assert fly.bias(plan) == Fraction(1, 4)
    second_is_one = law[1, 1]
    assert second_is_one == Fraction(1, 4), "after a first draft that passed, the second token is fair"
    assert law[1, 0] == 0


@pytest.mark.parametrize("greedy", [False, True])
def test_without_a_place_to_defer_it_is_exact(greedy: bool) -> None:
    for p, q in blocks(20, 3):
        drafts = np.argmax(q, axis=-1)
        for params in (
            {"fly_window_size": 3},
            {"fly_entropy_threshold": 1.1},
            {"fly_entropy_top_k": 1, "fly_entropy_threshold": 0.37},
        ):
            plan = fly.prepare(p, q, **params, greedy=greedy)
            law = fly.transition(plan, drafts)
            assert fly.bias(plan) == 0
            if not greedy:
                assert (law == tokenwise.transition(tokenwise.prepare(p, q), drafts)).all()


def test_a_block_is_as_far_as_something_is_deferred() -> None:
    """Part 5: the law of all tokens of a block, against the target's, is no further than P(some kept one deferred)."""
    laws = rational_laws(2, 4)
    for p, q in blocks(20, 2, laws):
        plan = fly.prepare(p, q, 1, 0.5)
        text = np.full((2, 2, 2), Fraction(0))
        deferred = Fraction(0)
        for x in itertools.product(*(np.flatnonzero(row).tolist() for row in q)):
            weight = q[0][x[0]] * q[1][x[1]]
            law = fly.transition(plan, np.array(x))
            text += weight * np.einsum("a,b,c->abc", law[0], p[1], p[2])
            text[x[0]] += weight * np.outer(law[1], p[2])
            text[x] += weight * law[2]
            plain = tokenwise.transition(tokenwise.prepare(p, q), np.array(x))
            deferred += weight * (plain[0].sum() - law[0].sum())
        target = np.einsum("a,b,c->abc", *p)
        assert abs(text - target).sum() / 2 <= deferred


def test_entropies_are_of_the_likeliest_tokens() -> None:
    for p in LAWS:
        for k in (1, 2, 3, 9):
            assert float(fly.entropy(p, k)) == pytest.approx(top_entropy(p, k), abs=1e-15)


def test_the_window_is_vllms_by_default() -> None:
    for gamma, window in ((1, 1), (2, 1), (4, 3), (9, 6)):
        ((p, q),) = blocks(1, gamma)
        assert fly.prepare(p, q).window == window
        assert fly.prepare(p, q, fly_window_size=2).window == 2


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"fly_window_size": -1}, "fly_window_size must be at least 0"),
        ({"fly_entropy_threshold": -1}, "fly_entropy_threshold is -1; it must lie in"),
        ({"fly_entropy_top_k": 0}, "fly_entropy_top_k must be at least 1"),
    ],
)
def test_a_bad_parameter_ends_in_one_line(params: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=f"^{words}"):
        fly.prepare(*next(blocks(1, 2)), **params)


def test_batches_in_floats_follow_fractions() -> None:
    p, q = (np.stack(rows) for rows in zip(*blocks(30, 4), strict=True))
    drafts, u = np.argmax(q, axis=-1), np.random.default_rng(1).random((30, 5))
    exact = np.vectorize(Fraction, otypes=[object])(u)
    for greedy in (False, True):
        params = {"fly_window_size": 2, "fly_entropy_threshold": 0.5, "greedy": greedy}
        plan, wanted = fly.prepare(p.astype(float), q.astype(float), **params), fly.prepare(p, q, **params)
        assert [part.tolist() for part in fly.verify(plan, drafts, u)] == [
            part.tolist() for part in fly.verify(wanted, drafts, exact)
        ]
        law = fly.transition(wanted, drafts).astype(float)
        assert np.allclose(fly.transition(plan, drafts), law, atol=1e-14)
        assert np.allclose(fly.bias(plan), fly.bias(wanted).astype(float), atol=1e-14)


def test_greedy_is_a_truth_value() -> None:
    rows = np.full((3, 2), 0.5)
    with pytest.raises(TypeError, match=r"^greedy must be True or False, got 'no'$"):
        fly.prepare(rows, rows[:2], greedy="no")  # type: ignore[arg-type]


def test_an_entropy_at_the_threshold_defers() -> None:
    half = np.full((3, 2), 0.5)
    assert fly.prepare(half, half[:2], 1, math.log(2)).unsure.tolist() == [True, False]
    assert fly.prepare(half, half[:2], 1, math.nextafter(math.log(2), 1)).unsure.tolist() == [False, False]
    # Of rows in float32 the entropy is taken in float64.
    p = np.array([0.2, 0.3, 0.5], dtype=np.float32)
    assert float(fly.entropy(p, 3)) == float(fly.entropy(p.astype(np.float64), 3))


@pytest.mark.parametrize(
    ("window", "passes", "accepted"),
    [(1, (0, 1, 0, 0), 2), (2, (0, 1, 0, 1), 0), (2, (0, 1, 1, 1), 4), (3, (0, 1, 1, 0), 0), (3, (0, 1, 1, 1), 4)],
)
def test_the_sampler_keeps_what_a_whole_window_behind_it_keeps(
    window: int, passes: tuple[int, ...], accepted: int
) -> None:
    """Fair coins against drafts that are sure: a draft fails where its number is above a half."""
    p, q = np.full((5, 2), 0.5), np.array([[1.0, 0.0]] * 4)
    u = np.array([0.25 if one else 0.75 for one in (*passes, 1)])
    found, _ = fly.verify(fly.prepare(p, q, window, 0.6), np.zeros(4, dtype=np.int64), u)
    assert int(found) == accepted


def test_greedy_drafts_pass_by_their_rank() -> None:
    """The likeliest token passes at any probability, and no other one does."""
    p = np.array([[0.4, 0.35, 0.25]] * 3)
    plan = fly.prepare(p, p[:2], 1, 5.0, greedy=True)
    found = [int(fly.verify(plan, np.array([x, 0]), np.zeros(3))[0]) for x in range(3)]
    assert found == [2, 0, 0]
