"""The law of requests: kinds that are there are found, pooled hazards rise, tails of answers are those of requests."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from specsim import (
    AcceptanceRecord,
    RequestMixture,
    accepted_length_law,
    request_law,
    request_mixture,
    request_of_blocks,
)
from specsim.lengths.request_estimates import hazards_of_requests
from specsim.lengths.request_record import LengthCounts, RequestAcceptance

GAMMA = 4
ALPHAS, WEIGHTS, BLOCKS = (0.4, 0.85), (0.6, 0.4), (60, 30)


def law(alpha: float) -> np.ndarray:
    return np.asarray(accepted_length_law(alpha, gamma=GAMMA), dtype=float)


@cache
def record(requests: int, seed: int) -> AcceptanceRecord:
    rng = np.random.default_rng(seed)
    drawn = []
    for kind in rng.choice(2, size=requests, p=WEIGHTS):
        counts = tuple(int(n) for n in rng.multinomial(BLOCKS[kind], law(ALPHAS[kind])))
        total = sum(n * count for n, count in enumerate(counts))
        drawn.append(RequestAcceptance(sum(counts), total, GAMMA * sum(counts), (LengthCounts(GAMMA, counts),)))
    return AcceptanceRecord(tuple(drawn))


@cache
def fitted() -> RequestMixture:
    return request_mixture(record(300, 1))


def test_the_kinds_that_are_there_are_found_within_their_errors() -> None:
    mixture = fitted()
    assert len(mixture.weights) == 2
    assert mixture.errors is not None
    assert abs(mixture.weights[0] - WEIGHTS[0]) < 4 * mixture.errors.weights[0]
    for kind, alpha in enumerate(ALPHAS):
        assert (abs(mixture.hazards[kind] - alpha) < 4.5 * mixture.errors.hazards[kind]).all()
    blocks = np.array(WEIGHTS) * BLOCKS
    assert abs(mixture.block_weights[0] - blocks[0] / blocks.sum()) < 4 * mixture.errors.block_weights[0]
    # The errors themselves are of the right size: a share of 0.6 among 300.
    assert mixture.errors.weights[0] == pytest.approx((0.6 * 0.4 / 300) ** 0.5, rel=0.5)


def test_pooled_hazards_rise_as_those_that_were_counted() -> None:
    requests, mixture = record(300, 1), fitted()
    counted = hazards_of_requests(requests).hazards
    assert (np.diff(mixture.pooled_hazards()) > 0).all()
    assert mixture.pooled_hazards() == pytest.approx(counted, abs=0.01)
    assert mixture.tau == pytest.approx(requests.tau, abs=0.02)


def test_tails_of_answers_are_those_of_poor_requests() -> None:
    """One curve of pooled hazards has the mean of all, and a P99 that is too early."""
    mixture = fitted()
    tokens, cycle = 200, 0.01
    mixed = mixture.request_law(tokens, cycle_s=cycle)
    exact = [request_law(law(alpha), tokens, cycle_s=cycle) for alpha in ALPHAS]
    truth = exact[0]._replace(cycles=WEIGHTS[0] * exact[0].cycles + WEIGHTS[1] * exact[1].cycles)
    alone = request_law(accepted_length_law(mixture.pooled_hazards()), tokens, cycle_s=cycle)
    for share in (0.5, 0.95, 0.99):
        assert mixed.quantile(share) == pytest.approx(truth.quantile(share), rel=0.03)
    assert alone.quantile(0.99) < 0.95 * truth.quantile(0.99)
    assert float(mixed.cycles.sum()) == pytest.approx(1)


def test_requests_that_are_alike_are_of_one_kind() -> None:
    rng = np.random.default_rng(4)
    alike = tuple(request_of_blocks(rng.binomial(1, 0.6, 50), 1) for _ in range(60))
    mixture = request_mixture(AcceptanceRecord(alike))
    assert mixture.weights.tolist() == [1.0]
    assert request_mixture(AcceptanceRecord(alike), kinds=3).hazards.shape == (3, 1)


def test_steps_without_a_draft_are_steps() -> None:
    requests = tuple(request_of_blocks([2, 1, 0, 0], [2, 2, 2, 0]) for _ in range(4))
    mixture = request_mixture(AcceptanceRecord(requests), kinds=1)
    assert mixture.errors is None
    assert mixture.hazards[0, 0] == pytest.approx(0.5)


def test_records_that_tell_too_little_are_refused() -> None:
    known = request_of_blocks([1, 0], 2)
    with pytest.raises(ValueError, match="has 1 requests with steps"):
        request_mixture(AcceptanceRecord((known,)))
    with pytest.raises(ValueError, match="expected histograms"):
        request_mixture(AcceptanceRecord((known, known._replace(histogram=()))))
    with pytest.raises(ValueError, match="request 1: plain_steps is None"):
        request_mixture(AcceptanceRecord((known, known._replace(plain_steps=None))))
    with pytest.raises(ValueError, match="kinds is 3 for 2 requests"):
        request_mixture(AcceptanceRecord((known, known)), kinds=3)
