"""The optimal stopping policy against every policy there is, static lengths and controllers with memory."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.stopping import table, times_of
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import optimal_gamma, optimal_stopping
from specsim.speed import stopping
from specsim.speed.stopping import Stopping

F = Fraction
Array = Any


def every_policy(laws: Array, times: list[F]) -> list[tuple[F, F, Any]]:
    """(E[N], E[T], choices) of each way to choose, for every history of signals, between verifying and drafting on."""
    n, bins = len(laws), laws.shape[-2]

    def follow(history: tuple[int, ...], w: F) -> list[tuple[F, F, Any]]:
        i = len(history)
        found: list[tuple[F, F, Any]] = [(1 * F(1), times[i], None)]  # tokens beyond those counted on the way
        if i == n:
            return found
        row = laws[i] if laws.ndim == 3 else laws[i, history[-1] if history else 0]
        after = []
        for s in range(bins):
            chance = row[s, 0] + row[s, 1]
            kept = row[s, 1] / chance if chance else F(0)
            options = follow((*history, s), w * kept) if chance else [(F(0), F(0), None)]
            after.append([(chance * (w * kept + tokens), chance * time, c) for tokens, time, c in options])
        found += [
            (sum(p[0] for p in parts), sum(p[1] for p in parts), tuple(p[2] for p in parts))
            for parts in itertools.product(*after)
        ]
        return found

    return follow((), F(1))


def assert_best(solve: Callable[..., Stopping]) -> None:
    """No policy of any history has a larger ratio, and the parts of the answer belong to one that has it."""
    rng = np.random.default_rng(4)
    for shape in [(1, 2, 2), (4, 2, 2), (4, 2, 2), (3, 3, 2), (2, 2, 2, 2), (4, 2, 2, 2), (4, 2, 2, 2), (3, 3, 3, 2)]:
        laws = table(rng, *shape)
        costs, times = times_of(rng, shape[0])
        best = solve(laws, **costs)
        assert best.speedup == max(tokens / time for tokens, time, _ in every_policy(laws, times))
        assert best.tau / best.cycle == best.speedup
        assert isinstance(best.speedup, F)
        assert sum(best.lengths) == 1
        assert best.cycle == sum(p * t for p, t in zip(best.lengths, times, strict=True))
        assert 1 <= best.static.speedup <= best.threshold.speedup <= best.speedup <= best.clairvoyant


def test_the_optimum_is_the_best_of_all_policies() -> None:
    assert_best(optimal_stopping)


def test_that_check_kills_mutants(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look one draft ahead only; take signals for independent; one round of Dinkelbach's iteration."""
    solve = stopping._solve

    def myopic(levels: Any, times: Any, theta: Any) -> Any:
        choices = [
            [sum(p * levels[i + 1][to].w for p, to in state.then) > theta * (times[i + 1] - times[i]) for state in one]
            for i, one in enumerate(levels[:-1])
        ]
        tokens, time, reach = 1, times[0], [1]
        for i, chosen in enumerate(choices):
            then = [0] * len(levels[i + 1])
            for state, p, go in zip(levels[i], reach, chosen, strict=True):
                time += p * (times[i + 1] - times[i]) * go
                for chance, to in state.then if go else ():
                    then[to] += p * chance
            tokens += sum(p * state.w for p, state in zip(then, levels[i + 1], strict=True))
            reach = then
        return tokens, time, choices

    def forgetful(laws: Array, **costs: Any) -> Stopping:
        return optimal_stopping(laws if laws.ndim == 3 else laws[:, 0], **costs)

    def impatient(levels: Any, times: Any, theta: Any) -> Any:
        return solve(levels, times, F(1))

    for wrong in (myopic, impatient):
        with monkeypatch.context() as patch:
            patch.setattr(stopping, "_solve", wrong)
            with pytest.raises(AssertionError):
                assert_best(optimal_stopping)
    with pytest.raises(AssertionError):
        assert_best(forgetful)


HAZARDS = st.lists(st.integers(0, 6).map(lambda n: F(n, 6)), min_size=1, max_size=4)


@given(HAZARDS, st.lists(st.integers(1, 5), min_size=2, max_size=2), st.integers(0, 2**32))
@settings(max_examples=40)
def test_no_causal_policy_beats_the_best_static_length(hazards: list[F], weights: list[int], seed: int) -> None:
    """T25: where signals say nothing of acceptance, in rationals, over all policies; i.i.d. acceptance among them."""
    signals = np.array([F(w, sum(weights)) for w in weights], dtype=object)
    laws = np.array([[[s * (1 - a), s * a] for s in signals] for a in hazards], dtype=object)
    costs, times = times_of(np.random.default_rng(seed), len(hazards))
    best = optimal_stopping(laws, **costs)
    lengths = [sum(math.prod(hazards[:i]) for i in range(g + 1)) / t for g, t in enumerate(times)]
    assert best.speedup == best.static.speedup == max(lengths)
    assert max(tokens / time for tokens, time, _ in every_policy(laws, times)) == max(lengths)


def test_the_static_check_can_fail() -> None:
    """A signal that says a little beats it."""
    laws = np.array([[[F(1, 10), F(4, 10)], [F(2, 10), F(3, 10)]]] * 4, dtype=object)
    best = optimal_stopping(laws, cost_ratio=F(1, 4))
    assert best.speedup > best.static.speedup > 1
    assert best.speedup > best.threshold.speedup  # the product of confidences says more than the last of them


def rate(step: Callable[[int, int], int], laws: list[list[F]], turn: Array, cost: F, start: int) -> float:
    """Speed of a controller that sets the next block's length from this one's, in text whose kind is a Markov chain.

    laws[kind] is the acceptance by position; exact up to the solution of the stationary equations in floats.
    """
    longest = len(laws[0])
    states = [(g, k) for g in range(1, longest + 1) for k in range(len(laws))]
    move = np.zeros((len(states), len(states)))
    gain = []
    for at, (g, k) in enumerate(states):
        tail = [float(math.prod(laws[k][:i])) for i in range(g + 1)] + [0.0]
        gain.append((sum(tail), 1 + float(cost) * g))
        for n in range(g + 1):
            for then in range(len(laws)):
                to = states.index((min(max(step(g, n), 1), longest), then))
                move[at, to] += (tail[n] - tail[n + 1]) * turn[k][then]
    share = np.linalg.matrix_power(move, 2**14)[states.index((start, 0))]
    tokens, time = share @ np.array(gain)
    return float(tokens / time)


def test_controllers_with_memory() -> None:
    """Two more after a block that was kept, one less otherwise, and the like: none gains unless the text differs."""
    rules: list[Callable[[int, int], int]] = [
        lambda g, n: g + 2 if n == g else g - 1, lambda g, n: n + 1, lambda g, n: 2 * n, lambda g, n: g + 1
    ]  # fmt: skip
    same, cost = [F(7, 10)] * 8, F(1, 20)
    static = optimal_gamma(0.7, cost_ratio=0.05, max_gamma=8).speedup
    for rule in rules:
        assert rate(rule, [same], [[1]], cost, 1) <= static + 1e-12
    kinds, turn = [[F(1, 10)] * 8, [F(95, 100)] * 8], [[0.99, 0.01], [0.01, 0.99]]
    best = max(rate(lambda g, n, fixed=fixed: fixed, kinds, turn, cost, 1) for fixed in range(1, 9))  # type: ignore[misc]
    assert rate(rules[0], kinds, turn, cost, 1) > 1.03 * best


@pytest.mark.parametrize(("hazards", "cost"), [([F(7, 10)] * 4, F(1, 20)), ([F(9, 10), F(1, 3), F(4, 5)], F(1, 8))])
def test_a_text_of_known_length_takes_no_less(hazards: list[F], cost: F) -> None:
    """T25, 1: least mean time of L tokens over all choices that know what is left, in rationals, against L / S*."""
    tails = [math.prod(hazards[:i]) for i in range(len(hazards) + 1)] + [F(0)]
    times = [1 + g * cost for g in range(len(hazards) + 1)]
    speeds = [sum(tails[: g + 1]) / t for g, t in enumerate(times)]
    least = [F(0)]
    for left in range(1, 41):
        choices = []
        for g, time in enumerate(times):
            shares = [tails[n] - (tails[n + 1] if n < g else 0) for n in range(g + 1)]
            choices.append(time + sum(p * least[max(left - n - 1, 0)] for n, p in enumerate(shares)))
        least.append(min(choices))
        assert least[left] >= left / max(speeds)
    assert least[40] < 40 / max(speeds) * F(103, 100)  # a speed 3 % above S* is no bound


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_one_step_ahead_is_enough_where_gains_fall(seed: int) -> None:
    """T25, 4: signals alike at every position, and a curve whose steps do not fall."""
    rng = np.random.default_rng(seed)
    laws, cost = table(rng, 3, 2), F(int(rng.integers(0, 8)), 20)
    steps = np.sort(rng.integers(0, 6, 4)).tolist()
    curve = [1 + F(sum(steps[:m]), 20) for m in range(5)]
    best = optimal_stopping(laws, max_gamma=4, cost_ratio=cost, verify_cost=curve)

    def follow(i: int, w: F) -> tuple[F, F]:
        cycle = cost * i + curve[i]
        if i == 4 or w * sum(laws[:, 1]) <= best.speedup * (cost + curve[i + 1] - curve[i]):
            return F(1), cycle
        after = [(p, kept / p, follow(i + 1, w * kept / p)) for lost, kept in laws if (p := lost + kept)]
        return sum(p * (w * r + more[0]) for p, r, more in after), sum(p * more[1] for p, _, more in after)

    tokens, time = follow(0, F(1))
    assert tokens / time == best.speedup


def test_of_equals_the_shorter_is_taken() -> None:
    """One draft and two have the speed 6/5: drafting on brings nothing, so the policy, the length and the rule stop."""
    best = optimal_stopping([[[F(1, 2), F(1, 2)]], [[F(2, 5), F(3, 5)]]], cost_ratio=F(1, 4))
    assert best.static.curve.tolist() == [1, F(6, 5), F(6, 5)]
    assert best.lengths.tolist() == [0, 1, 0]
    assert (best.static.gamma, best.threshold) == (1, (F(1, 2), 1, F(6, 5)))


def test_one_step_ahead_is_not_enough() -> None:
    """A rule that drafts on while the next draft's gain is above theta times its cost stops before a step of t."""
    curve = [1, 1, 2, 2, 2, 2]  # a pass of six tokens costs what one of three does
    best = optimal_stopping([[F(0), F(1)]], max_gamma=5, verify_cost=curve)
    assert (best.speedup, best.lengths.tolist()) == (3, [0, 0, 0, 0, 0, 1])
    assert best.speedup * (curve[2] - curve[1]) > 1  # theta times the cost of draft 2 is above its gain, one token


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: optimal_stopping([[0.5, 0.5]]), r"^give max_gamma with a table of shape \(S, 2\)"),
    (lambda: optimal_stopping([[0.5, 0.4]], max_gamma=2), r"^table sums to 0\.9; "),
    (lambda: optimal_stopping([[[0.5, 0.5]], [[0.6, 0.5]]]), r"^table\[1\] sums to 1\.1; "),
    (lambda: optimal_stopping([[1.5, -0.5]], max_gamma=2), r"^table\[1\] is -0\.5: negative; "),
    (lambda: optimal_stopping([[math.nan, 0.5]], max_gamma=2), r"^table\[0\] is nan: not a number; "),
    (lambda: optimal_stopping([0.5, 0.5], max_gamma=2), r"^table must have shape .*, got \(2,\)$"),
    (lambda: optimal_stopping([[0.2, 0.3, 0.5]], max_gamma=2), r"^table must have shape .*, got \(1, 3\)$"),
    (lambda: optimal_stopping(np.full((1, 2, 3, 2), 1 / 6)), r"^table must have shape .*, got \(1, 2, 3, 2\)$"),
    (lambda: optimal_stopping([[[0.5, 0.5]]], max_gamma=2), r"^max_gamma is 2, but table has 1 positions$"),
    (lambda: optimal_stopping([[0.5, 0.5]], max_gamma=0), r"^max_gamma must be at least 1, got 0$"),
    (lambda: optimal_stopping([[0.5, 0.5]], max_gamma=2, cost_ratio=-1), r"^cost_ratio is -1; "),
    (lambda: optimal_stopping([[0.5, 0.5]], max_gamma=2, verify_cost=[1, 1]), r"has 2 entries; t\(3\) is needed$"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_too_many_states(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stopping, "STATES", 6)
    with pytest.raises(ValueError, match=r"^3 drafts give 10 states, more than 6: fewer signals or positions fit$"):
        optimal_stopping([[0.1, 0.4], [0.2, 0.3]], max_gamma=4)
