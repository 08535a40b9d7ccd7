"""Intervals over few prompts hold: plain bootstrap percentiles of five prompts cover 85 % where they say 95 %."""

from __future__ import annotations

import math

import numpy as np
import pytest

from real.studies import intervals
from real.studies.intervals import Estimate

SAMPLES = 400


def prompts(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Tokens and target calls of prompts whose tau differs."""
    calls = rng.integers(20, 60, count)
    return rng.poisson(np.exp(rng.normal(0.5, 0.2, count)) * calls) + 1.0, calls.astype(float)


TOKENS, CALLS = prompts(np.random.default_rng(1), 400_000)
TAU = TOKENS.sum() / CALLS.sum()


@pytest.mark.parametrize("count", [3, 5, 16])
def test_intervals_of_ratios_cover(count: int) -> None:
    rng = np.random.default_rng(2)
    found = [intervals.ratio(*prompts(rng, count)) for _ in range(SAMPLES)]
    assert 0.92 <= np.mean([low <= TAU <= high for _, low, high in found]) <= 0.98


@pytest.mark.parametrize("count", [5, 16])
def test_bootstrap_intervals_are_widened_for_few_prompts(count: int) -> None:
    """Five uneven prompts: plain percentiles cover 80 %."""
    rng = np.random.default_rng(3)
    found = [
        intervals.bootstrap(prompts(rng, count), lambda tokens, calls: tokens.sum(-1) / calls.sum(-1))
        for _ in range(SAMPLES)
    ]
    assert 0.87 <= np.mean([low <= TAU <= high for _, low, high in found]) <= 0.98


def test_a_speedup_of_three_prompts_has_no_interval() -> None:
    tokens, calls = prompts(np.random.default_rng(4), 3)
    found = intervals.speedup(tokens, calls, np.ones(3), np.ones(3))
    assert found == Estimate(found.value, -math.inf, math.inf)
    assert math.isfinite(intervals.ratio(tokens, calls).low)
    assert intervals.ratio(tokens[:1], calls[:1]).high == math.inf


def test_an_interval_of_a_ratio_holds_nothing_impossible() -> None:
    """Two prompts have an interval far beyond 0 and 1; of acceptance what can be remains, of a difference all."""
    accepted, tried = np.array([0.1, 0.9]), np.array([1.0, 1.0])
    free = intervals.jackknife((accepted, tried), lambda top, bottom: top / bottom, level=0.95)
    assert free.low < 0
    assert free.high > 1
    assert intervals.ratio(accepted, tried, most=1.0) == (0.5, 0.0, 1.0)
    assert intervals.ratio(accepted, tried).high == free.high
    assert intervals.ratio(accepted - 0.5, tried).low < 0
    assert intervals.ratio(accepted[:1], tried[:1], most=1.0).low == float("-inf")
