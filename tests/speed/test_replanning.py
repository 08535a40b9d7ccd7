"""Re-planning: what it chooses is the best of all, what it learns is counted, what it cannot know is said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from specsim import fastest_shapes, from_measurements, plan, predict, replanner, roofline
from specsim.lengths.acceptance_record import from_alpha
from specsim.speed.replanning import Replanner
from specsim.speed.ssd import cached_drafts

TIMES = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm", overhead_s=1e-3)
RANKS = [0.7, 0.12, 0.05]


@pytest.mark.parametrize("batch", [1, 8, 64, 200, 512])
def test_the_choice_is_the_planner_s(batch: int) -> None:
    chains = replanner(TIMES, 0.7).choose(batch, 2048)
    best = plan(TIMES, 0.7, batches=[batch], contexts=[2048])[0]
    assert chains.gamma == best.gamma == len(chains.parents)
    assert chains.speedup.value == pytest.approx(best.speedup.value)
    trees = replanner(TIMES, RANKS, nodes=16).choose(batch, 2048)
    shape = fastest_shapes(TIMES, RANKS, nodes=16, batch=batch, context=2048).tree
    assert trees.parents == tuple(shape.parents.tolist())
    assert trees.speedup.value == pytest.approx(float(shape.speedup))
    assert trees.speedup.value >= chains.speedup.value - 1e-12


def test_what_is_seen_is_counted_and_fades() -> None:
    state = replanner(TIMES, RANKS, weight=10, memory=0.5)
    assert state.ranks == pytest.approx(RANKS)
    once = state.observed_blocks([0, 2, 4], 4)  # 6 kept; 1 + 3 + 4 tested, the last keeps all and refuses none
    assert (once.kept[0], once.tried[0]) == (6, 8)
    assert once.hazards[0] == pytest.approx((10 * 0.7 + 6) / 18)
    assert once.hazards[1:] == state.hazards[1:]  # a chain says nothing of second children
    assert once.ranks[1] == pytest.approx((1 - once.hazards[0]) * state.hazards[1])
    later = once.observed()
    assert (later.kept[0], later.tried[0]) == (3, 4)
    assert state.kept == (0, 0, 0)  # the old state is what it was
    both = state.observed([3, 1], [4, 1])
    assert both.hazards[:2] == pytest.approx(((7 + 3) / 14, (10 * 0.4 + 1) / 11))
    for _ in range(60):
        once = once.observed()
    assert once.ranks == pytest.approx(RANKS)  # off for long, it is where it began


def test_it_finds_the_acceptance_of_long_runs() -> None:
    rng = np.random.default_rng(0)
    state = replanner(TIMES, 0.3, memory=1)
    for _ in range(200):
        g = max(state.choose(8, 1024).gamma, 1)
        state = state.observed_blocks(np.minimum(rng.geometric(0.15, 8) - 1, g), g)
    assert abs(state.ranks[0] - 0.85) < 4 * (0.85 * 0.15 / state.tried[0]) ** 0.5 + 0.01
    assert state.choose(8, 1024).gamma == plan(TIMES, from_alpha(state.ranks[0]), batches=[8], contexts=[1024])[0].gamma


def test_the_interval_is_that_of_counts_and_times() -> None:
    """Of a chain of one: the error of its tau is that of its acceptance; plain decoding is what it is."""
    times = from_measurements({1: [10.0, 10.2], 2: [10.4, 10.6]}, {None: [1.0, 1.1]}, overhead=[0.5, 0.6])
    state = replanner(times, 0.8, max_gamma=1, weight=40).observed([35], [60])
    found, h = state.choose(1, 16), (0.8 * 40 + 35) / 100
    ours = predict(times, tau=1 + h, tau_error=(h * (1 - h) / 100) ** 0.5, gamma=1)
    assert found.speedup == pytest.approx(ours.speedup)
    assert replanner(times, 0.0).observed([0], [1])._replace(max_gamma=1).choose(1, 16).speedup == (1, 1, 1)
    # Where errors of times are not known there is no interval; a roofline's cycle has one.
    assert (
        replanner(from_measurements({1: 1.0, 3: 1.1}, {None: 0.1}), 0.8, max_gamma=2).choose(1, 1).speedup.low is None
    )
    low = TIMES._replace(cycle_error=None)
    assert replanner(low, 0.8).choose(1, 1).speedup.low is None
    known = replanner(TIMES, 0.8, weight=1e9).choose(1, 1024)
    assert known.speedup == pytest.approx(plan(TIMES, 0.8, contexts=[1024])[0].speedup, rel=1e-4)


def test_a_child_that_was_always_kept_is_not_sure() -> None:
    sure = replanner(TIMES, 1.0, weight=1).observed([5], [5]).choose(1, 1024)
    assert sure.gamma == 16
    assert sure.speedup.low is not None
    wide = replanner(TIMES._replace(cycle_error=lambda tokens: 0.0), 1.0, weight=1).observed([5], [5]).choose(1, 1024)
    assert wide.speedup.low is not None
    assert wide.speedup.low < 0.5 * wide.speedup.value


def _noisy(m: int, b: int, s: int) -> Any:
    from specsim.latency import Timing

    return Timing(10.0 - 0.05 * (m == 3), 0.1)


BAD: list[tuple[Callable[[], Any], str]] = [
    (lambda: replanner(TIMES, 0.7).choose(0, 1), r"^batch must be at least 1, got 0$"),
    (lambda: replanner(TIMES, 0.7).choose(1, 0), r"^context must be at least 1, got 0$"),
    (
        lambda: replanner(from_measurements({1: 10.0, 5: 12.0, 6: 11.0}, {None: 1.0}), 0.7, max_gamma=5).choose(2, 9),
        r"^t\(m\) decreases: at batch 2, context 9 a pass over 6 tokens takes 11, one over 5 takes 12$",
    ),
    (lambda: replanner(TIMES, [0.7, 1.2]), r"^ranks\[1\] is 1\.2; it must lie in \[0, 1\]$"),
    (lambda: replanner(TIMES, [0.7, -0.1]), r"^ranks\[1\] is -0\.1; it must lie in \[0, 1\]$"),
    (lambda: replanner(TIMES, [0.7, 0.4]), r"^ranks sum to 1\.1; entry k is the probability"),
    (lambda: replanner(TIMES, []), r"^ranks must be a number or one row of them, got shape \(0,\)$"),
    (lambda: replanner(TIMES, 0.7, weight=0), r"^weight is 0; it must lie in \(0, inf\)$"),
    (lambda: replanner(TIMES, 0.7, memory=1.1), r"^memory is 1\.1; it must lie in \(0, 1\]$"),
    (lambda: replanner(TIMES, 0.7, nodes=-1), r"^nodes must be at least 0, got -1$"),
    (lambda: replanner(cached_drafts(TIMES, 0.7, 0.9), 0.7, nodes=4), "only chains of such drafts are planned"),
    (lambda: replanner(TIMES, 0.7).observed([2], [1]), r"^kept\[0\] is 2, more than the 1 that were tried$"),
    (
        lambda: replanner(TIMES, 0.7).observed([1, 1], [1, 1]),
        r"^kept has shape \(2,\); acceptance is known of 1 ranks$",
    ),
    (lambda: replanner(TIMES, 0.7).observed([-1], [1]), r"^kept\[0\] is -1\.0; it must lie in \[0, inf\)$"),
    (lambda: replanner(TIMES, 0.7).observed_blocks([5], 4), r"^accepted\[0\] is 5\.0; it must lie in \[0, 4\]$"),
]


@pytest.mark.parametrize(("call", "message"), BAD, ids=[m for _, m in BAD])
def test_bad_input_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()


def test_a_decrease_within_errors_is_noise() -> None:
    noisy = TIMES._replace(target=_noisy)
    assert isinstance(replanner(noisy, 0.7), Replanner)
    replanner(noisy, 0.7).choose(1, 1)
    with pytest.raises(ValueError, match=r"^t\(m\) decreases"):
        replanner(noisy._replace(target=lambda m, b, s: _noisy(m, b, s)._replace(error=0.01)), 0.7).choose(1, 1)
