"""T43: what forced acceptance preserves and hides, in rationals over every short list of small numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest

from specsim.lengths.blocks import accepted_length_law
from specsim.lengths.request_mixture import RequestMixture
from specsim.lengths.requests import request_law

MOST, LENGTH = 5, 5


def lists() -> Iterator[tuple[int, ...]]:
    """Every sorted list of up to five numbers from 0 to 5."""
    for k in range(1, LENGTH + 1):
        yield from itertools.combinations_with_replacement(range(MOST + 1), k)


def balanced(numbers: tuple[int, ...]) -> list[int]:
    """Floors and ceilings of the mean, with the same sum."""
    q, r = divmod(sum(numbers), len(numbers))
    return [q] * (len(numbers) - r) + [q + 1] * r


def slowest(numbers: list[int] | tuple[int, ...], share: Fraction) -> Fraction:
    """The mean of the largest share of a list; the last number counts in part."""
    left, total = share * len(numbers), Fraction(0)
    for number in sorted(numbers, reverse=True):
        part = min(left, Fraction(1))
        total, left = total + part * number, left - part
    return total / (share * len(numbers))


@pytest.mark.parametrize("power", [2, 3])
def test_balanced_lengths_have_the_least_sum_of_a_convex_function(power: int) -> None:
    for numbers in lists():
        even = balanced(numbers)
        assert (sum(even), len(even)) == (sum(numbers), len(numbers))
        assert sum(x**power for x in even) <= sum(x**power for x in numbers)
        for t in range(MOST + 1):
            assert sum(max(x - t, 0) for x in even) <= sum(max(x - t, 0) for x in numbers)


def test_the_mean_of_the_slowest_share_is_never_overstated() -> None:
    shares = [Fraction(1, 20), Fraction(1, 3), Fraction(1, 2), Fraction(9, 10), Fraction(1)]
    for numbers in lists():
        for share in shares:
            assert slowest(balanced(numbers), share) <= slowest(numbers, share)
    assert sorted(balanced((1, 1, 4)))[1] == 2 * sorted((1, 1, 4))[1], "a single quantile can be overstated"


def test_the_mean_of_requests_differs_by_a_covariance() -> None:
    for cycles in itertools.product(range(1, 4), repeat=3):
        for tokens in itertools.product(range(1, 5), repeat=3):
            rates = [Fraction(n, k) for n, k in zip(tokens, cycles, strict=True)]
            mean = sum(rates) / 3
            covariance = sum(rate * k for rate, k in zip(rates, cycles, strict=True)) / 3 - mean * Fraction(
                sum(cycles), 3
            )
            assert Fraction(sum(tokens), sum(cycles)) - mean == covariance / Fraction(sum(cycles), 3)


def test_a_schedule_by_request_has_the_law_of_every_request() -> None:
    """The law of the mixture's cycles, against all blocks of all kinds, one by one."""
    hazards, tokens = np.array([[0.25, 0.5], [0.75, 0.5]]), 4
    mixture = RequestMixture(np.array([0.25, 0.75]), hazards, np.array([0.5, 0.5]), 8)
    expected = np.zeros(tokens + 1)
    for weight, row in zip(mixture.weights, hazards, strict=True):
        law = accepted_length_law(row)
        for blocks in itertools.product(range(3), repeat=tokens):
            emitted = np.cumsum(np.add(blocks, 1))
            cycles = int(np.searchsorted(emitted, tokens)) + 1
            expected[cycles] += weight * np.prod(law[list(blocks)])
    assert mixture.request_law(tokens, cycle_s=1.0).cycles == pytest.approx(expected)
    alone = request_law(accepted_length_law(hazards[0]), tokens, cycle_s=1.0).cycles
    assert abs(alone - expected).max() > 0.1, "one kind alone has another law"
