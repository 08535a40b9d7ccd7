"""Hazards from logs of blocks, their intervals, mixtures, and conversions between conventions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from helpers.logs import blocks
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from specsim import (
    accepted_length_law,
    block_efficiency,
    convert_acceptance,
    estimate_hazards,
    mixture_length_law,
    pool_texts,
    survival_hazards,
)

F = Fraction


def test_mixtures_are_above_their_mean() -> None:
    law = mixture_length_law([F(1, 2), F(9, 10)], [F(1, 4), F(3, 4)], gamma=3)
    by_hand = [F(1, 4) * a + F(3, 4) * b for a, b in zip(*(
        accepted_length_law(v, gamma=3).tolist() for v in (F(1, 2), F(9, 10))), strict=True)]  # fmt: skip
    assert law.tolist() == by_hand
    tau = sum((n + 1) * p for n, p in enumerate(law))
    assert tau > block_efficiency(F(8, 10), gamma=3)
    rows = mixture_length_law([[F(1, 2)] * 3, [F(9, 10)] * 3], [F(1, 4), F(3, 4)])
    assert rows.tolist() == law.tolist()


def test_censored_hazards_are_recovered() -> None:
    accepted, drafted = blocks(0)
    found = estimate_hazards(accepted, drafted, level=0.9999)
    truth = np.array([0.8, 0.7, 0.6, 0.5])
    assert (found.intervals[:, 0] < truth).all()
    assert (truth < found.intervals[:, 1]).all()
    # Without the censoring the same check fails at every position but the first.
    reached = np.array([(accepted >= i).sum() for i in range(5)])
    naive = reached[1:] / reached[:-1]
    assert (naive < found.intervals[:, 0]).all()
    tau, error = found.tau(4)
    assert abs(tau - float(block_efficiency(truth))) < 5 * error
    assert found.tau(0) == (1.0, 0.0)


@given(st.lists(st.integers(0, 30), min_size=2, max_size=6).filter(lambda h: sum(h[1:]) and h[0]))
def test_one_length_gives_the_plain_mean_and_its_error(histogram: list[int]) -> None:
    """Greenwood's error of tau is then that of a mean: an identity."""
    gamma, total = len(histogram) - 1, sum(histogram)
    found = estimate_hazards(range(gamma + 1), gamma, counts=histogram)
    sizes = np.arange(1, gamma + 2)
    mean = float(sizes @ histogram) / total
    spread = float((sizes - mean) ** 2 @ histogram) / total
    seen = int((found.tried > 0).sum())
    tau, error = found.tau(seen)
    assert tau == pytest.approx(mean)
    assert error == pytest.approx(math.sqrt(spread / total), abs=1e-12)
    survival = np.cumsum(histogram[::-1])[::-1][1:] / total
    assert survival_hazards(survival)[:seen] == pytest.approx(found.hazards[:seen])


def test_pooled_texts_cover_where_texts_differ() -> None:
    """Easy and hard texts: the truth is known, and blocks taken for independent promise too much."""
    rng, kinds = np.random.default_rng(6), np.array([0.4, 0.9])
    gamma, count = 3, 30
    law = mixture_length_law(kinds, [0.5, 0.5], gamma=gamma)
    truth = float(np.arange(1, gamma + 2) @ law)
    pooled = alone = 0
    for _ in range(300):
        alpha = rng.choice(kinds, 20)[:, None, None]
        n = (rng.random((20, count, gamma)) < alpha).cumprod(axis=2).sum(axis=2)
        steps = np.arange(1, gamma + 1)
        kept, tried = ((n[:, :, None] >= steps - i).sum(axis=1) for i in (0, 1))
        found, same = pool_texts(kept, tried), estimate_hazards(n.ravel(), gamma)
        assert found.hazards.tolist() == same.hazards.tolist()
        pooled += abs(found.tau(gamma)[0] - truth) <= 1.96 * found.tau(gamma)[1]
        alone += abs(same.tau(gamma)[0] - truth) <= 1.96 * same.tau(gamma)[1]
    assert 0.88 < pooled / 300 < 0.98
    assert alone / 300 < 0.7


@pytest.mark.parametrize("level", [0.5, 0.95, 0.9999])
def test_intervals_are_scipys(level: float) -> None:
    """Centre and width: at 200 blocks one centred at the share itself would cover nearly as often."""
    for tried in (1, 2, 7, 200):
        for kept in {0, 1, tried // 3, tried - 1, tried}:
            log = estimate_hazards([0, 1], 1, counts=[tried - kept, kept], level=level)
            wanted = binomtest(kept, tried).proportion_ci(level, method="wilson")
            assert log.intervals[0] == pytest.approx([wanted.low, wanted.high], abs=1e-12)


def test_intervals_cover_as_often_as_they_say() -> None:
    def covered(stretch: float) -> float:
        inside = []
        for seed in range(300):
            accepted, drafted = blocks(seed, 200)
            low, high = estimate_hazards(accepted, drafted, level=0.9).intervals[0]
            middle = (low + high) / 2
            inside.append(abs(middle - 0.8) <= stretch * (high - low) / 2)
        return float(np.mean(inside))

    assert 0.85 < covered(1.0) < 0.95
    assert covered(0.6) < 0.85


def test_conversions() -> None:
    """One run, five numbers."""
    assert round(convert_acceptance(0.8, kind="alpha", to="draft_rate", gamma=3), 2) == 0.65
    assert convert_acceptance(2.952, kind="tau", to="output_share", gamma=3) == pytest.approx(1.952 / 2.952)
    assert convert_acceptance(1, kind="alpha", to="tau", gamma=5) == 6
    assert convert_acceptance(6, kind="tau", to="alpha", gamma=5) == 1
    assert convert_acceptance(0, kind="draft_rate", to="alpha", gamma=5) == pytest.approx(0, abs=1e-15)
    assert survival_hazards([F(4, 5), F(2, 5), 0, 0]).tolist() == [F(4, 5), F(1, 2), 0, 0]
    assert survival_hazards([]).shape == (0,)


@given(st.floats(0.01, 0.99), st.integers(1, 12), st.data())
def test_conversions_go_both_ways(alpha: float, gamma: int, data: st.DataObject) -> None:
    kinds = st.sampled_from(["tau", "kept", "draft_rate", "output_share", "alpha"])
    a, b = data.draw(kinds), data.draw(kinds)
    value = convert_acceptance(alpha, kind="alpha", to=a, gamma=gamma)
    there = convert_acceptance(value, kind=a, to=b, gamma=gamma)
    assert convert_acceptance(there, kind=b, to=a, gamma=gamma) == pytest.approx(value, rel=1e-9)
    assert convert_acceptance(there, kind=b, to="alpha", gamma=gamma) == pytest.approx(alpha, rel=1e-6)


def test_a_pooled_interval_by_hand() -> None:
    """The jackknife of two texts: each left out once, the squares of what moves times (T - 1) / T."""
    found = pool_texts([[9], [7]], [[10], [10]])
    assert (found.hazards.tolist(), found.tau_error) == ([0.8], pytest.approx(0.1))
    assert found.intervals[0] == pytest.approx([0.8 - 0.1959964, 0.8 + 0.1959964])
    high, low = (pool_texts([[a], [b]], [[10], [10]]).intervals[0] for a, b in ((10, 7), (0, 3)))
    assert (high[1], low[0]) == (1, 0)  # cut at what a share can be
    assert 0 < high[0] < 1
    assert 0 < low[1] < 1


def test_where_nothing_is_kept_the_error_is_not_none() -> None:
    for kept in ([0] * 40, [1] * 40):
        found = estimate_hazards(kept, 1)
        assert found.tau(1)[1] == 0
        assert 0.01 < found.tau(1, wary=True)[1] < 0.1


def test_counts_at_the_edge() -> None:
    with pytest.raises(ValueError, match=r"^accepted\[1\] is 2, more than the 1 drafts of that block$"):
        estimate_hazards([1, 2], 1)
    with pytest.raises(ValueError, match=r"^counts sums to 9\.0072e\+15; more than 2\^53 are not counted exactly$"):
        estimate_hazards([0, 1], 1, counts=[2**52, 2**52 + 2])
    assert estimate_hazards([0, 1], 1, counts=[2**52, 2**52]).tried.tolist() == [2**53]
