"""Two drafters compared over requests: paired where prompts are shared, with as many prompts as a difference needs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from specsim import AcceptanceRecord, compare_records, request_of_blocks
from specsim.lengths.request_comparison import prompts_needed
from specsim.lengths.request_record import LengthCounts, RequestAcceptance

GAMMA, BLOCKS = 3, 40


def drafters(rng: np.random.Generator, prompts: int, better: float) -> tuple[AcceptanceRecord, AcceptanceRecord]:
    """Two drafters on the same prompts, which differ; the second accepts a little more of each."""
    alphas = rng.uniform(0.3, 0.8, prompts)
    return tuple(
        AcceptanceRecord(tuple(request(rng, min(alpha + more, 1.0), str(i)) for i, alpha in enumerate(alphas)))
        for more in (0.0, better)
    )  # type: ignore[return-value]


def request(rng: np.random.Generator, alpha: float, prompt: str) -> RequestAcceptance:
    survival = alpha ** np.arange(GAMMA + 1)
    law = survival - np.append(survival[1:], 0.0)
    counts = tuple(int(n) for n in rng.multinomial(BLOCKS, law))
    accepted = sum(n * count for n, count in enumerate(counts))
    return RequestAcceptance(BLOCKS, accepted, BLOCKS * GAMMA, (LengthCounts(GAMMA, counts),), prompt=prompt)


def unnamed(record: AcceptanceRecord) -> AcceptanceRecord:
    return AcceptanceRecord(tuple(request._replace(prompt="") for request in record.requests))


def test_shared_prompts_make_a_small_difference_certain() -> None:
    first, second = drafters(np.random.default_rng(1), 40, 0.04)
    paired = compare_records(first, second)
    alone = compare_records(unnamed(first), unnamed(second))
    assert (paired.better, paired.paired, paired.prompts) == ("second", True, (40, 40))
    assert (alone.better, alone.paired) == ("neither", False)
    assert paired.ratio.value == pytest.approx(second.tau / first.tau)
    assert alone.ratio.value == pytest.approx(paired.ratio.value)
    assert alone.needed[1].prompts > 3 * paired.needed[1].prompts
    assert compare_records(second, first).better == "first"


def test_only_shared_prompts_are_compared() -> None:
    first, second = drafters(np.random.default_rng(2), 6, 0.0)
    some = AcceptanceRecord((*second.requests[3:], request_of_blocks([3] * 500, 3, prompt="other")))
    found = compare_records(first, some)
    assert found.prompts == (3, 3)
    ours = AcceptanceRecord(first.requests[3:])
    assert found.ratio.value == pytest.approx(AcceptanceRecord(second.requests[3:]).tau / ours.tau)


@pytest.mark.parametrize("named", [True, False])
def test_intervals_of_equal_drafters_cover(named: bool) -> None:
    """Of equal drafters 90 % or more of the intervals have 1."""
    rng = np.random.default_rng(3)
    covered = []
    for _ in range(80):
        pair = drafters(rng, 20, 0.0)
        first, second = pair if named else (unnamed(pair[0]), unnamed(drafters(rng, 20, 0.0)[1]))
        ratio = compare_records(first, second).ratio
        assert ratio.low is not None
        assert ratio.high is not None
        covered.append(ratio.low <= 1 <= ratio.high)
    assert 0.9 <= np.mean(covered) <= 1


def test_prompts_needed_by_hand() -> None:
    """(1.96 + 0.84) / log(1.02) standard errors, each of 0.3 / sqrt(n); a few more where n is small."""
    n = (2.801585 * 0.3 / math.log(1.02)) ** 2
    assert math.ceil(n) <= prompts_needed(0.3, 0.02) <= math.ceil(n) + 8
    assert prompts_needed(0.03, 0.02) > 1.2 * (2.801585 * 0.03 / math.log(1.02)) ** 2
    assert prompts_needed(0.0, 0.02) == 2


def test_prompts_needed_see_a_difference_as_often_as_they_say() -> None:
    rng = np.random.default_rng(4)
    more = 0.03
    large = drafters(rng, 1500, more)
    difference = large[1].tau / large[0].tau - 1
    needed = compare_records(*large, differences=[difference]).needed[0].prompts
    seen = np.mean([compare_records(*drafters(rng, needed, more)).better == "second" for _ in range(50)])
    assert 0.65 <= seen <= 0.95


def test_records_without_two_requests_are_refused() -> None:
    one = AcceptanceRecord((request_of_blocks([1], 2),))
    with pytest.raises(ValueError, match="second has 1 requests with steps; expected two or more"):
        compare_records(AcceptanceRecord(one.requests * 2), one)


def test_a_difference_that_no_number_of_prompts_shows_is_refused() -> None:
    a = AcceptanceRecord(tuple(request_of_blocks([n, 1], 3) for n in (0, 1, 3)))
    with pytest.raises(ValueError, match=r"differences\[1\]"):
        compare_records(a, a, differences=[0.01, 1e-300])
