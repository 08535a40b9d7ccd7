"""Energy distances: against the sums that define them, of one law and of two."""

from __future__ import annotations

import numpy as np
import pytest

from real.studies.permutations import energy_distance


def by_pairs(one: np.ndarray, other: np.ndarray) -> float:
    def mean(a: np.ndarray, b: np.ndarray) -> float:
        far = [np.linalg.norm(x - y) for i, x in enumerate(a) for j, y in enumerate(b) if a is not b or i != j]
        return float(np.mean(far))

    return 2 * mean(one, other) - mean(one, one) - mean(other, other)


def test_distance_is_what_it_is_defined_as() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.standard_normal((7, 3)), rng.standard_normal((4, 3)) + 1
    found = energy_distance(one, other, shuffles=50)
    assert found.distance == pytest.approx(by_pairs(one, other))
    order = np.flatnonzero(np.random.default_rng(0).permuted(np.array([[1.0] * 7 + [0.0] * 4] * 50), axis=1)[3])
    points = np.concatenate([one, other])
    assert found.shuffled[3] == pytest.approx(by_pairs(points[order], np.delete(points, order, axis=0)))


def test_one_law_is_inside_as_often_as_it_has_to_be_and_two_are_not() -> None:
    rng = np.random.default_rng(1)
    outside = 0
    for seed in range(60):
        one, other = rng.standard_normal((2, 30, 2))
        found = energy_distance(one, other, shuffles=99, seed=seed).beside(0.9)
        outside += found.value > found.high
    assert 1 <= outside <= 14  # 6 of 60 are expected
    found = energy_distance(one, other + 1.5, shuffles=99).beside()
    assert found.value > found.high


def test_one_point_is_no_set() -> None:
    with pytest.raises(ValueError, match="sets of 1 and 2 points"):
        energy_distance(np.zeros((1, 2)), np.ones((2, 2)))
