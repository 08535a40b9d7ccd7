"""Cost algebras: closed forms against simulations that follow clocks and drafts one by one."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.costs import ALPHAS, COSTS, CURVES
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import (
    draft_then_verify,
    dsi,
    early_exit,
    multi_token_heads,
    pearl,
    speedup,
    trees,
)

F = Fraction
Round = tuple[float, float]  # tokens, time


def coins(rng: np.random.Generator, alpha: float) -> Iterator[bool]:
    while True:
        yield from rng.random(4096) < alpha


def assert_rate(rounds: Iterator[Round], predicted: float, count: int = 6000) -> None:
    """Tokens over time, within six standard errors of a ratio (and the rounding of a sum)."""
    tokens, time = np.array([next(rounds) for _ in range(count)]).T
    rate = tokens.sum() / time.sum()
    spread = (tokens - rate * time).reshape(60, -1).sum(axis=1).std(ddof=1) * math.sqrt(60) / time.sum()
    assert abs(rate - predicted) < 6 * spread + 1e-9


def serial_rounds(alpha: float, gamma: int, draft: float, last: float, verify: float, seed: int) -> Iterator[Round]:
    """A draft loop, one more step of `last` seconds, then a pass: both the standard cycle and early exits."""
    kept = coins(np.random.default_rng(seed), alpha)
    while True:
        clock, tokens, alive = 0.0, 1, True
        for _ in range(gamma):
            clock += draft
            alive = next(kept) and alive
            tokens += alive
        yield tokens, clock + last + verify


def pearl_rounds(
    alpha: float, gamma: int, cost: float, curve: Any, rho: float, over: float, seed: int
) -> Iterator[Round]:
    """Drafts waiting to be tested are a list of coins; every round drafts gamma and tests what it can."""
    kept = coins(np.random.default_rng(seed), alpha)
    waiting: list[bool] = []
    while True:
        inputs = len(waiting) + 1  # the last token kept, and each draft that waits
        new = [next(kept) for _ in range(gamma)]
        time = rho * max(sum(cost for _ in new), curve[inputs - 1]) + over
        tests = [*waiting, new[0]]
        if all(tests):
            yield len(tests), time
            waiting = new[1:]
        else:
            yield tests.index(False) + 1, time
            waiting = []


def dsi_rounds(
    alpha: float, gamma: int, cost: float, verify: float, seed: int, restart: bool = False
) -> Iterator[Round]:
    """A heap of events: a block is drafted, a block is verified, a plain step ends. A round ends at the rejection.

    With restart a plain run begins anew at each verified block; without, there is the one from the round's start.
    """
    kept = coins(np.random.default_rng(seed), alpha)
    while True:
        rejected = 1
        while next(kept):
            rejected += 1
        events = [(gamma * cost, "drafted", gamma), (1.0, "plain", 1)]
        while True:
            now, what, place = heapq.heappop(events)
            if what != "drafted" and place >= rejected:
                yield rejected, now
                break
            if what == "drafted":
                heapq.heappush(events, (now + verify, "verified", place))
                heapq.heappush(events, (now + gamma * cost, "drafted", place + gamma))
            elif what == "plain" or restart:
                heapq.heappush(events, (now + 1, "plain", place + 1))


def head_rounds(b: Any, parents: Any, time: float, seed: int) -> Iterator[Round]:
    """Walk down: at each node one candidate, or none, is right."""
    rng, below = np.random.default_rng(seed), trees.children(parents)
    while True:
        at, level, tokens = 0, 0, 1
        while below[at]:
            right = int((rng.random() > np.cumsum(b[level])).sum())
            if right >= len(below[at]):
                break
            at, level, tokens = below[at][right] + 1, level + 1, tokens + 1
        yield tokens, time


@given(ALPHAS, st.integers(0, 6), COSTS, CURVES, st.integers(0, 2**32))
@settings(max_examples=15)
def test_standard_and_early_exit(alpha: float, gamma: int, cost: float, curve: list[float], seed: int) -> None:
    usual = draft_then_verify(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve, overhead=0.1)
    assert usual.speedup == pytest.approx(
        float(speedup(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve, overhead=0.1))
    )
    assert_rate(serial_rounds(alpha, gamma, cost, 0.1, curve[gamma], seed), usual.speedup)
    layers, exit_at, adapter = 16, int(16 * cost), 0.03
    found = early_exit(alpha, gamma=gamma, shared=exit_at / layers, adapter=adapter, verify_cost=curve)
    shallow = sum(1 / layers for _ in range(exit_at))
    deep = sum(curve[gamma] / layers for _ in range(exit_at, layers))
    rounds = serial_rounds(alpha, gamma, shallow + adapter, shallow, deep, seed)
    assert_rate(rounds, found.speedup)


@given(ALPHAS, st.integers(1, 6), COSTS, CURVES, st.sampled_from([1, 1.5]), st.integers(0, 2**32))
@settings(max_examples=25)
def test_pearl(alpha: float, gamma: int, cost: float, curve: list[float], rho: float, seed: int) -> None:
    found = pearl(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve, interference=rho, overhead=0.1)
    assert_rate(pearl_rounds(alpha, gamma, cost, curve, rho, 0.1, seed), found.speedup)
    assert found.speedup <= found.bound * (1 + 1e-12)
    assert found.tokens == pytest.approx(found.speedup * found.time)


@given(ALPHAS, st.integers(1, 6), COSTS, CURVES, st.integers(0, 2**32))
@settings(max_examples=25)
def test_dsi(alpha: float, gamma: int, cost: float, curve: list[float], seed: int) -> None:
    alpha, cost = min(alpha, 0.9), max(cost, 1 / 16)  # drafts in no time would be endless events
    found = dsi(alpha, gamma=gamma, cost_ratio=cost, verify_cost=curve)
    assert_rate(dsi_rounds(alpha, gamma, cost, curve[gamma - 1], seed), found.speedup)
    assert found.speedup <= found.bound * (1 + 1e-12)


TREES = [[], [-1], [-1, -1], [-1, 0, 1], [-1, -1, 0, 0], [-1, -1, -1, 0, 1, 3]]

LEVEL = st.lists(st.integers(0, 6), min_size=3, max_size=3).map(lambda v: [n / (sum(v) + 2) for n in v])


@given(st.sampled_from(TREES), st.lists(LEVEL, min_size=3, max_size=3), st.integers(0, 2**32))
@settings(max_examples=15)
def test_heads(parents: list[int], b: list[list[float]], seed: int) -> None:
    curve = [1 + 0.02 * m for m in range(9)]
    found = multi_token_heads(b, parents, head_cost=0.15, verify_cost=curve, overhead=0.05)
    assert_rate(head_rounds(b, parents, curve[len(parents)] + 0.2, seed), found.speedup)
    assert found.most == trees.depths(parents).max(initial=0) + 1
    # One acceptance at every level is the tree of the other module.
    alike = multi_token_heads([b[0]] * 3, parents, head_cost=0)
    assert alike.tokens == pytest.approx(float(trees.tree_value(parents, b[0])))
    chain = multi_token_heads([0.9, 0.5], head_cost=0.1)
    assert chain.speedup == pytest.approx((1 + 0.9 + 0.45) / 1.1)


def test_forms_of_the_literature() -> None:
    """The same cycle as MoESD, MagicDec and frame prediction write it."""
    a, g, c, t, rejection = F(3, 5), 4, F(1, 12), F(7, 5), F(1, 20)
    tau = sum(a**i for i in range(g + 1))
    found = draft_then_verify(a, gamma=g, cost_ratio=c, verify_cost=[1] * g + [t], overhead=rejection)
    efficiency, share = tau / (g + 1), 1 / t  # MoESD: sigma, and T(1) / T(gamma + 1)
    assert found.speedup == efficiency * (g + 1) / (g * c + 1 / share + rejection)
    assert 1 / found.speedup == (g * c + t + rejection) / tau  # MagicDec: seconds per token over a target step
    frames = draft_then_verify(a, gamma=g, verify_cost=[1] * g + [t])  # actions that persist, no draft to run
    assert frames.speedup == (1 - a ** (g + 1)) / (1 - a) / t


def test_the_simulations_can_tell() -> None:
    """Formulas with one idea missing fail against the same simulations."""
    a, g, c, curve = 0.7, 4, 0.2, [1, 1.1, 1.2, 1.3, 1.4]
    rounds: dict[str, tuple[Callable[[], Iterator[Round]], list[float]]] = {
        "pearl": (
            lambda: pearl_rounds(a, g, c, curve, 1.5, 0.1, 1),
            [
                sum(a**j for j in range(g)) / (1.5 * 1.3 + 0.1),  # no refill after a rejection
                pearl(a, gamma=g, cost_ratio=c, verify_cost=curve, overhead=0.1).speedup,  # no interference
                sum(a**j for j in range(g + 1)) / (1.5 * 1.3 + 0.1),  # and a bonus token
            ],
        ),
        "dsi": (
            lambda: dsi_rounds(a, g, c, 1.3, 1),
            [
                1 / (1 - a) / (g * c / (1 - a**g) + 1.3),  # no plain decoding beside
                1 / (1 - a) / (c / (1 - a) + 1.3),  # a target for each draft
                draft_then_verify(a, gamma=g, cost_ratio=c, verify_cost=curve).speedup,
            ],
        ),
        "exit": (
            lambda: serial_rounds(a, g, 0.2 + 0.03, 0.2, 0.8 * 1.4, 1),
            [
                early_exit(a, gamma=g, shared=0.2, adapter=0.03).speedup,  # a flat curve
                sum(a**j for j in range(g + 1)) / (g * 0.23 + 0.2 + 1.4),  # verification runs all layers
                sum(a**j for j in range(g + 1)) / (g * 0.23 + 0.8 * 1.4),  # the last draft skips the shared layers
            ],
        ),
    }
    for simulate, wrong in rounds.values():
        for value in wrong:
            with pytest.raises(AssertionError):
                assert_rate(simulate(), value, count=30_000)
    b = [[0.6, 0.2], [0.3, 0.3]]
    alike = float(trees.tree_value([-1, -1, 0, 0], b[0])) / 1.2
    with pytest.raises(AssertionError):
        assert_rate(head_rounds(b, [-1, -1, 0, 0], 1.2, 1), alike)


def test_dsi_in_rationals() -> None:
    """Against the sum, cut where what is left of it is bounded; and plain decoding where the draft is no faster."""
    for a, g, c, o in [(F(3, 4), 3, F(1, 5), F(0)), (F(1, 2), 2, F(3, 4), F(1, 3)), (F(9, 10), 5, F(0), F(1, 10))]:
        found = dsi(a, gamma=g, cost_ratio=c, overhead=o)
        terms = [a**n * (1 - a) * min(n + 1, -(-(n + 1) // g) * g * c + 1 + o) for n in range(400)]
        left = a**400 * (401 + 1 / (1 - a))
        assert isinstance(found.time, F)
        assert sum(terms) <= found.time <= sum(terms) + left
        assert left < F(1, 10**15)
    assert dsi(F(1, 2), gamma=3, cost_ratio=1).speedup == dsi(F(1, 2), gamma=3, cost_ratio=7).speedup == 1
    assert dsi(0.5, gamma=2, cost_ratio=0.25).assumptions[1].endswith("needed: 2, and one decodes plainly")


FRACTIONS = st.integers(0, 11).map(lambda n: F(n, 12))


@given(FRACTIONS, st.integers(1, 6), FRACTIONS, CURVES, FRACTIONS)
def test_dsi_is_never_slower(alpha: F, gamma: int, cost: F, curve: list[float], overhead: F) -> None:
    """Than plain decoding and than drafting and waiting (T26), where t grows with the tokens."""
    exact = [F(round(20 * t), 20) for t in curve]
    found = dsi(alpha, gamma=gamma, cost_ratio=cost, verify_cost=exact, overhead=overhead)
    waits = draft_then_verify(alpha, gamma=gamma, cost_ratio=cost, verify_cost=exact, overhead=overhead)
    assert found.speedup >= max(1, waits.speedup)


def test_that_check_can_fail_and_where_pearl_is_slower() -> None:
    """A falling curve breaks the hypothesis; PEARL has no such guarantee, as a rejection costs it a round."""
    half = F(1, 2)
    for curve, slower in (([1, 2, 1], True), ([1, 1, 1], False)):
        apart = dsi(half, gamma=2, cost_ratio=F(1, 8), verify_cost=curve).speedup
        waits = draft_then_verify(half, gamma=2, cost_ratio=F(1, 8), verify_cost=curve).speedup
        assert (apart < waits) == slower
    assert pearl(half, gamma=4, cost_ratio=half).speedup < 1
    waits = draft_then_verify(half, gamma=4, cost_ratio=F(1, 20)).speedup
    assert pearl(half, gamma=4, cost_ratio=F(1, 20)).speedup < waits


def test_restarted_plain_runs_help_only_slow_drafts() -> None:
    """What the docstring of dsi says of gamma c above 1."""
    for gamma, cost, helps in ((3, 0.3, False), (3, 0.6, True)):
        found = dsi(0.8, gamma=gamma, cost_ratio=cost).speedup
        rounds = dsi_rounds(0.8, gamma, cost, 1.0, 3, restart=True)
        tokens, time = np.array([next(rounds) for _ in range(20_000)]).T
        faster = tokens.sum() / time.sum() / found - 1
        assert (faster > 0.02) if helps else abs(faster) < 0.02
