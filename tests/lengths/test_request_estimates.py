"""Intervals over requests: they cover where requests differ, and are those of independent blocks where they do not."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specsim import AcceptanceRecord, block_efficiency, latency, plan, request_estimates, request_of_blocks
from specsim.base.intervals import jackknife_ratio
from specsim.lengths.acceptance_record import as_acceptance
from specsim.lengths.request_alpha import alpha_function
from specsim.lengths.request_estimates import hazards_of_requests
from specsim.lengths.request_record import LengthCounts, RequestAcceptance
from specsim.types import Array

GAMMA = 4
# Two kinds of requests, and how many blocks each has in the mean: long answers are copied ones.
ALPHAS, SHARES, SIZES = np.array([0.45, 0.85]), np.array([0.7, 0.3]), np.array([40.0, 90.0])


def laws() -> Array:
    """Laws of accepted drafts of a block, one row a kind."""
    survival = ALPHAS[:, None] ** np.arange(GAMMA + 2)
    survival[:, -1] = 0
    return survival[:, :-1] - survival[:, 1:]


def drawn(rng: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Histograms (..., gamma + 1) of requests drawn at random."""
    kind = rng.choice(2, size=shape, p=SHARES)
    blocks = rng.geometric(1 / SIZES[kind])
    return rng.multinomial(blocks, laws()[kind])


def truth() -> tuple[float, Array]:
    """Tokens per step, and hazards, of all requests together."""
    blocks = SHARES * SIZES
    pooled = blocks @ laws() / blocks.sum()
    survival = pooled[::-1].cumsum()[::-1]
    return float(survival.sum()), survival[1:] / survival[:-1]


def record_of(histograms: Array) -> AcceptanceRecord:
    rows = [tuple(int(n) for n in row) for row in histograms]
    accepted = [sum(n * count for n, count in enumerate(row)) for row in rows]
    return AcceptanceRecord(
        tuple(
            RequestAcceptance(sum(row), total, GAMMA * sum(row), (LengthCounts(GAMMA, row),))
            for row, total in zip(rows, accepted, strict=True)
        )
    )


@pytest.mark.parametrize("requests", [30, 100])
def test_intervals_of_tau_cover_where_requests_differ(requests: int) -> None:
    """Of 2,000 samples 93 to 97 % cover; with independent blocks fewer than 75 % do."""
    samples = drawn(np.random.default_rng(36), (2000, requests))
    sizes = np.arange(1, GAMMA + 2)
    tau, _ = truth()
    covered = independent = 0
    for histograms in samples:
        estimate = jackknife_ratio(histograms @ sizes, histograms.sum(axis=1))
        low, high = estimate.interval(0.95)
        covered += low <= tau <= high
        pooled = histograms.sum(axis=0) / histograms.sum()
        spread = math.sqrt(float(pooled @ (sizes - estimate.value) ** 2) / histograms.sum())
        independent += abs(estimate.value - tau) < 1.96 * spread
    assert 0.93 <= covered / len(samples) <= 0.97
    assert independent / len(samples) < 0.75


def test_intervals_of_hazards_cover_where_requests_differ() -> None:
    samples = drawn(np.random.default_rng(5), (250, 25))
    _, hazards = truth()
    inside = []
    for histograms in samples:
        estimate = hazards_of_requests(record_of(histograms))
        inside.append((estimate.intervals[:, 0] <= hazards) & (hazards <= estimate.intervals[:, 1]))
    share = np.mean(inside)
    assert 0.93 <= share <= 0.97


def test_hazards_of_mixed_requests_rise() -> None:
    _, hazards = truth()
    assert (np.diff(hazards) > 0).all()


def test_all_measures_of_a_record_by_hand() -> None:
    """Blocks of 2 drafts: 3 requests of 2, 4 and 6 blocks; one has two steps without a draft."""
    requests = (
        request_of_blocks([0, 1], 2),
        request_of_blocks([2, 2, 1, 1, 0, 0], [2, 2, 2, 2, 0, 0]),
        request_of_blocks([2, 2, 2, 0, 1, 2], 2),
    )
    found = request_estimates(AcceptanceRecord(requests), cycle=1.5)
    assert found.requests == 3
    assert found.tau.value == pytest.approx((12 + 2 + 16) / 14)
    assert found.drafted_tau.value == pytest.approx(1 + 16 / 12)
    assert found.mean_tau.value == pytest.approx((3 / 2 + 12 / 6 + 15 / 6) / 3)
    assert found.draft_rate is not None
    assert found.draft_rate.value == pytest.approx(16 / 24)
    assert found.alpha is not None
    assert block_efficiency(found.alpha.value, gamma=2) == pytest.approx(found.drafted_tau.value)
    assert found.hazards is not None
    assert found.hazards.hazards.tolist() == pytest.approx([10 / 12, 6 / 10])
    assert found.speedup is not None
    assert found.speedup.value == pytest.approx(found.tau.value / 1.5)
    # Three requests say little: the interval is wide, and inside what is possible.
    assert found.tau.low is not None
    assert found.tau.high is not None
    assert 1.0 <= found.tau.low < found.tau.value < found.tau.high <= 3.0


def test_one_request_has_no_interval_and_alike_ones_no_error() -> None:
    one = request_estimates(AcceptanceRecord((request_of_blocks([0, 1, 2], 2),)))
    assert (one.tau.value, one.tau.low, one.widening) == (2.0, None, None)
    assert one.hazards is not None
    assert one.hazards.intervals[0][0] > 0
    alike = request_estimates(AcceptanceRecord((request_of_blocks([0, 1, 2], 2),) * 3))
    assert (alike.tau.low, alike.tau.high) == (2.0, 2.0)


def test_alpha_of_several_lengths_is_their_mixture() -> None:
    record = AcceptanceRecord((request_of_blocks([0, 0, 1], [1, 3, 3]), request_of_blocks([5], 5)))
    alpha = alpha_function(record)
    assert alpha is not None
    lengths = [1, 3, 3, 5]
    tau = sum(float(block_efficiency(0.7, gamma=g)) for g in lengths) / 4
    assert alpha(tau) == pytest.approx(0.7)
    assert alpha(1.0) == pytest.approx(0, abs=1e-12)
    # Totals that no single length explains do not tell it.
    assert alpha_function(AcceptanceRecord((RequestAcceptance(4, 3, 10),))) is None
    assert alpha_function(AcceptanceRecord((RequestAcceptance(4, 3, 8),))) is not None


def test_the_jackknife_of_a_mean_is_its_standard_error() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    estimate = jackknife_ratio(values, np.ones(4))
    assert estimate.error == pytest.approx(values.std(ddof=1) / 2)
    assert 1 <= estimate.freedom <= 3
    assert jackknife_ratio(values[:1], np.ones(1)).error == math.inf


def test_a_large_request_lowers_the_degrees_of_freedom() -> None:
    """An error that rests on one request in fifty is itself uncertain."""
    even = jackknife_ratio(np.tile([1.0, 2.0], 25), np.ones(50))
    heavy = jackknife_ratio(np.r_[np.tile([1.0, 2.0], 24), 1.5, 400.0], np.r_[np.ones(49), 100.0])
    assert even.freedom == 49
    assert heavy.freedom < 5
    assert heavy.normal_error > heavy.error


def test_a_record_is_an_acceptance_wherever_one_is_taken() -> None:
    """tau is per step of the target, and its error is over requests."""
    requests = tuple(request_of_blocks([2] * n + [0] * (8 - n), [2] * 6 + [0] * 2) for n in (1, 3, 6))
    record = AcceptanceRecord(requests)
    acceptance = as_acceptance(record)
    assert acceptance.longest == 2
    tau, error = acceptance.tau(2)
    assert tau == pytest.approx(record.tau)
    estimate = request_estimates(record)
    assert error == pytest.approx(jackknife_ratio(np.array([10.0, 14.0, 20.0]), np.full(3, 8.0)).error)
    assert acceptance.hazards(1)[0] == pytest.approx(10 / 24)
    best = plan(latency.constant(0.1), record, batches=[1])[0]
    assert best.gamma in (1, 2)
    assert estimate.tau.value == pytest.approx(tau)


def test_a_record_that_does_not_tell_its_steps_is_no_acceptance() -> None:
    known = request_of_blocks([1, 0], 2)
    with pytest.raises(ValueError, match="request 1: plain_steps is None; give the steps without a draft"):
        as_acceptance(AcceptanceRecord((known, known._replace(plain_steps=None))))
    with pytest.raises(ValueError, match="has 1 requests with steps; expected two or more"):
        as_acceptance(AcceptanceRecord((known,)))
    with pytest.raises(ValueError, match="not known by draft length; expected histograms"):
        as_acceptance(AcceptanceRecord((known, known._replace(histogram=()))))
