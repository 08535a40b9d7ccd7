"""Intervals of speeds hold the spread of prompts, of turns of timing and of visits of cycles, each by itself."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from real.decode.clock import PHASES
from real.papers.lab import times as times_module
from real.papers.lab.times import Sample, Times, interval, resampled
from real.studies.costs import Costs
from real.studies.intervals import Estimate, ratio

Array = Any

STILL = np.ones((1, 40))  # turns that all take as long


def costs(cycle: float) -> Costs:
    """A cycle of every length: half of it is the draft's."""
    by_phase: Any = {f"{name}_s": [cycle / 2 if name in ("draft", "verify") else 0.0] * 2 for name in PHASES}
    return Costs(gammas=[0, 1], **by_phase, cycle_s=[cycle] * 2, spread=[0.0] * 2)


def times(*others: float) -> Times:
    return Times(costs(1.0), [costs(one) for one in others or (1.0,)])


def speed(tokens: Array, blocks: Array, steps: Array, prices: Array) -> Array:
    """Tokens a second of a step and a cycle."""
    return tokens / blocks / (steps[..., 0] + prices[..., 0])


def of(prompts: tuple[Array, Array], turns: Array, told: Times) -> Estimate:
    return interval(Sample(prompts, turns, lambda one: [one.cycle(1)], told), speed)


def width(one: Estimate) -> float:
    return one.high - one.low


EVEN = (np.full(30, 20.0), np.full(30, 10.0))
RNG = np.random.default_rng(0)
UNEVEN = (RNG.uniform(16, 24, 30), np.full(30, 10.0))
NOISY = 1 + RNG.exponential(0.2, (1, 40))
VISITS = tuple(RNG.normal(1, 0.03, 400))


def test_with_exact_times_the_interval_is_that_of_prompts() -> None:
    found, alone = of(UNEVEN, STILL, times()), ratio(*UNEVEN)
    assert found.value == pytest.approx(alone.value / 2)
    assert width(found) == pytest.approx(width(alone) / 2, rel=0.08)


@pytest.mark.parametrize(
    ("prompts", "turns", "told"),
    [(UNEVEN, STILL, times()), (EVEN, NOISY, times()), (EVEN, STILL, times(*VISITS))],
    ids=["prompts", "turns", "visits"],
)
def test_each_of_the_three_is_in_the_interval(prompts: tuple[Array, Array], turns: Array, told: Times) -> None:
    alone, still = of(prompts, turns, told), of(EVEN, STILL, times())
    assert width(still) == 0
    assert alone.low < alone.value < alone.high
    assert width(of(UNEVEN, NOISY, times(*VISITS))) > 1.05 * width(alone)


def test_spreads_of_turns_are_those_of_their_median() -> None:
    found = of(EVEN, NOISY, times())
    rng = np.random.default_rng(1)
    medians = np.median(rng.choice(NOISY[0], (4000, 40)), axis=-1)
    low, high = np.quantile(2 / (medians + 1), [0.025, 0.975])
    assert (found.low, found.high) == pytest.approx((low, high), rel=0.02)


def test_one_turn_says_nothing_of_a_spread() -> None:
    assert of(UNEVEN, STILL[:, :1], times())[1:] == (float("-inf"), float("inf"))


def test_visits_are_resampled_by_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """All lengths of a turn stay together: a slow turn is slow for all of them."""
    turns = [{g: [[float(1 + turn)] * len(PHASES)] for g in (0, 1)} for turn in range(5)]
    monkeypatch.setattr(times_module, "DRAWN", 30)
    found = resampled(turns)
    assert len({one.cycle(0) for one in found}) >= 4
    assert all(one.cycle(0) == one.cycle(1) for one in found)
