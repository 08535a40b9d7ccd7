"""Thresholds on the draft's confidence and static lengths: what they decide, by hand and with a decoder that runs."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from helpers.stopping import table, times_of
from hypothesis import given, settings
from hypothesis import strategies as st

from specsim import optimal_gamma, optimal_stopping
from specsim.speed import stopping

F = Fraction
Array = Any


def test_thresholds_and_lengths_run() -> None:
    """A decoder that sees signals and the table go_on only, with its own clock, gets the predicted speed."""
    laws = np.array([[0.05, 0.45], [0.1, 0.2], [0.15, 0.05]])
    curve = [1 + 0.03 * m for m in range(12)]
    best = optimal_stopping(laws, max_gamma=8, cost_ratio=0.1, verify_cost=curve, overhead=0.05)
    rng, confidence = np.random.default_rng(0), laws[:, 1] / laws.sum(axis=1)
    draws = iter(rng.choice(6, p=laws.ravel(), size=400_000).tolist())
    tokens, time, lengths = [], [], np.zeros(9)
    for _ in range(40_000):
        w, g, clock, alive, emitted = 1.0, 0, 0.0, True, 1
        while g < 8 and w >= best.go_on[g, 0] - 1e-12:
            signal, kept = divmod(next(draws), 2)
            w, g, clock, alive = w * confidence[signal], g + 1, clock + 0.1, alive and bool(kept)
            emitted += alive
        tokens.append(emitted)
        time.append(clock + (curve[g] + 0.05 if g else 1))
        lengths[g] += 1
    speed = np.sum(tokens) / np.sum(time)
    error = np.std(np.array(tokens) - speed * np.array(time)) / np.sqrt(len(time)) / np.mean(time)
    assert abs(speed - best.speedup) < 5 * error
    assert abs(speed - best.static.speedup) > 5 * error
    assert abs(speed - best.threshold.speedup) > 2 * error
    assert np.abs(lengths / lengths.sum() - best.lengths).sum() < 0.02


@given(st.integers(0, 2**32))
@settings(max_examples=20)
def test_drafting_goes_on_above_a_threshold(seed: int) -> None:
    """T25: the choice is monotone in w, so go_on says it all."""
    rng = np.random.default_rng(seed)
    laws = table(rng, *((4, 3, 2), (4, 2, 2, 2))[seed % 2])
    costs, times = times_of(rng, 4)
    best = optimal_stopping(laws, **costs)
    law, keep = stopping._laws(laws, None)
    levels = stopping._levels(law, keep)
    _, _, choices = stopping._solve(levels, times, best.speedup)
    for i, (level, chosen) in enumerate(zip(levels, choices, strict=False)):
        for state, go in zip(level, chosen, strict=True):
            assert go == (state.w >= best.go_on[i, state.signal])


def threshold_speed(law: Array, keep: Array, times: list[F], least: F, most: int) -> F:
    """By following signals: draft on while the last confidence is at least so high, up to `most` drafts."""

    def follow(i: int, before: int, w: F) -> tuple[F, F]:
        tokens = time = F(0)
        for s in range(law.shape[2]):
            p, r = law[i, before, s], keep[i, before, s]
            if p:
                more = (F(0), times[i + 1])
                if i + 1 < most and r >= least:
                    more = follow(i + 1, s % law.shape[1], w * r)
                tokens, time = tokens + p * (w * r + more[0]), time + p * more[1]
        return tokens, time

    tokens, time = follow(0, 0, F(1))
    return (1 + tokens) / time


@pytest.mark.parametrize("shape", [(3, 3, 2), (3, 2, 2, 2)])
def test_threshold_rules_by_hand(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(9)
    for _ in range(3):
        laws = table(rng, *shape)
        costs, times = times_of(rng, 3)
        law, keep = stopping._laws(laws, None)
        rules = itertools.product({*keep.ravel()}, range(1, 4))
        speeds = {rule: threshold_speed(law, keep, times, *rule) for rule in rules}
        found = optimal_stopping(laws, **costs).threshold
        assert found.speedup == max(1, *speeds.values())
        assert found.max_gamma == 0 or found.speedup == speeds[found.confidence, found.max_gamma]


def test_oracle_as_published() -> None:
    """Leviathan et al. 2023: the oracle emits 1 / (1 - alpha) a call, up to about 60 % above the best fixed length."""
    gains = []
    for alpha, cost in itertools.product((0.5, 0.6, 0.7, 0.8, 0.9), (0.02, 0.05, 0.1, 0.2)):
        found = optimal_stopping([[1 - alpha, alpha]], max_gamma=120, cost_ratio=cost)
        assert found.clairvoyant == pytest.approx(1 / (1 - alpha + cost * alpha), rel=1e-4)
        fixed = optimal_gamma(alpha, cost_ratio=cost).speedup
        assert found.speedup == pytest.approx(fixed)
        gains.append(found.clairvoyant / fixed - 1)
    assert 0.5 < max(gains) < 0.62
    free = optimal_stopping([[0.2, 0.8]], max_gamma=120, cost_ratio=0)
    assert free.clairvoyant == pytest.approx(5, rel=1e-4)
