"""The error of a median by two samples in order."""

from __future__ import annotations

import math
from statistics import NormalDist, median

import numpy as np
import pytest

from specsim.base.intervals import median_error


def test_the_error_is_half_the_distance_of_two_samples_over_their_quantile() -> None:
    """The ends of five samples hold the median with probability 1 - 2 / 32; of ten, the second and the ninth do."""
    z = NormalDist().inv_cdf(1 - 1 / 32)
    assert median_error([3.0, 1.0, 2.0, 5.0, 4.0]) == pytest.approx(4 / (2 * z))
    z = NormalDist().inv_cdf(1 - 11 / 1024)
    assert median_error([float(k) for k in range(10)]) == pytest.approx(7 / (2 * z))


def test_few_or_equal_samples_show_no_error() -> None:
    assert median_error([1.0, 1.2]) is None
    assert median_error([1.0, 1.0, 1.0]) is None
    assert median_error([1.0, 1.1, 1.0]) is not None


@pytest.mark.parametrize("count", [3, 5, 8, 20])
def test_intervals_of_a_ratio_cover(count: int) -> None:
    """Intervals of ratios of two medians of log-normal times hold in 93 % of 2,000, less three standard errors."""
    rng = np.random.default_rng(count)
    draws = 2000
    covered = 0
    for top, bottom in np.exp(rng.normal(0, 0.1, (draws, 2, count))).tolist():
        errors = [(median_error(some) or math.inf) / median(some) for some in (top, bottom)]
        covered += abs(math.log(median(top) / median(bottom))) <= 1.96 * math.hypot(*errors)
    assert covered / draws > 0.93 - 3 * math.sqrt(0.93 * 0.07 / draws)
