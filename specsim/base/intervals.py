"""Confidence intervals of shares and ratios."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from specsim.base import check
from specsim.types import Array


class Measure(NamedTuple):
    """A number and its interval; low and high are None if the error is not known."""

    value: float
    low: float | None
    high: float | None


def student_quantile(level: float, freedom: float) -> float:
    """Return the two-sided quantile of Student's t; infinite without a degree of freedom."""
    level = float(check.scalar(level, "level", "(0, 1)"))
    if freedom < 1:
        return math.inf
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, (1 - level) / 2))


def ratio_error(top: Array, bottom: Array) -> float:
    """Return the standard error of sum(top) / sum(bottom) over independent pairs."""
    n, total = len(top), float(bottom.sum())
    if n < 2 or not total:
        return 1.0
    # Residuals of the pairs about the line through 0 with the ratio as slope.
    residuals = top - bottom * (float(top.sum()) / total)
    return math.sqrt(n / (n - 1) * float(residuals @ residuals)) / total


class RatioEstimate(NamedTuple):
    """A ratio of sums over independent clusters, its standard error, and degrees of freedom."""

    value: float
    error: float
    freedom: float

    def interval(self, level: float) -> tuple[float, float]:
        """Return Student's interval; infinite without a degree of freedom."""
        half_width = student_quantile(level, self.freedom) * self.error if self.error else 0.0
        return self.value - half_width, self.value + half_width

    @property
    def normal_error(self) -> float:
        """The standard error with which a normal interval of 95 % is as wide as Student's."""
        return self.error * student_quantile(0.95, self.freedom) / _NORMAL if self.error else 0.0


# The normal quantile of a two-sided interval of 95 %.
_NORMAL = 1.959963984540054


def jackknife_ratio(top: Array, bottom: Array) -> RatioEstimate:
    r"""Return sum(top) / sum(bottom) over independent clusters, with the jackknife's error.

    .. math:: \mathrm{se}^2 = \frac{n - 1}{n} \sum_i d_i^2, \qquad
        d_i = \frac{T - t_i}{B - b_i} - \overline{d}, \qquad \nu = \min\Big(n - 1,
        \frac{n}{\kappa - 1}\Big)

    The degrees of freedom fall with the kurtosis of the d_i, because a variance that rests on a few
    large clusters is itself uncertain. A variance has 2 n / (kappa - 1) of them; half as many are
    taken, since a sample's kurtosis is too small on average. On public traces, 95 % intervals from
    10 to 100 requests then cover 94 to 97 %.

    >>> import numpy as np
    >>> estimate = jackknife_ratio(np.array([2.0, 3.0, 4.0]), np.array([1.0, 1.0, 1.0]))
    >>> round(estimate.value, 3), round(estimate.error, 3), estimate.freedom
    (3.0, 0.577, 2)
    """
    # In the letters of the formula: T and B are the sums, t_i and b_i the entries.
    n, total_top, total_bottom = len(top), float(top.sum()), float(bottom.sum())
    value = total_top / total_bottom if total_bottom else math.nan
    bottom_without = total_bottom - bottom
    if n < 2 or not (bottom_without > 0).all():
        return RatioEstimate(value, math.inf, 0)
    return jackknife(value, (total_top - top) / bottom_without)


def jackknife(value: float, without: Array) -> RatioEstimate:
    """Return an estimate with the jackknife's error, from its values without each cluster."""
    # d are the deviations d_i of `jackknife_ratio`. Where they are nothing but rounding, there is no error.
    n = len(without)
    d = without - without.mean()
    squares = float(d @ d)
    if squares <= (n * 1e-15 * abs(value)) ** 2:
        return RatioEstimate(value, 0.0, n - 1)
    kurtosis = n * float((d**2) @ (d**2)) / squares**2
    freedom = min(n - 1, n / (kurtosis - 1)) if kurtosis > 1 else n - 1
    return RatioEstimate(value, math.sqrt((n - 1) / n * squares), max(freedom, 1))


# With fewer samples than this, a nominal 95 % interval from `median_error` covers less than 93 %.
FEWEST_FOR_A_MEDIAN = 3


def median_error(samples: Sequence[float]) -> float | None:
    r"""Return the standard error of the median of independent samples, of any law; None where they do not show it.

    .. math:: \mathrm{se} = \frac{x_{(n + 1 - c)} - x_{(c)}}{2 z}, \qquad
        c = \max\Big(1, \frac{n + 1}{2} - \sqrt n\Big) \text{ rounded}

    The two samples in order hold the median with probability 1 - 2 P(B < c), B binomial (n, 1/2); z
    is the normal quantile of that (Bonett and Price 2002, Psychological Methods 7:370). Intervals
    of 95 % for the ratio of two such medians covered 93 to 99 % of 20,000 draws, for 3 to 50
    samples that were normal, log-normal, exponential, or had outliers in a tenth; with 2 samples
    90 %, so that they give none. Samples that are all equal show no spread, and give none either.

    >>> round(median_error([10.0, 10.2, 10.1, 10.4, 10.0]), 3), median_error([10.0, 10.2])
    (0.107, None)
    """
    n, ordered = len(samples), sorted(samples)
    if n < FEWEST_FOR_A_MEDIAN:
        return None
    rank = max(1, round((n + 1) / 2 - math.sqrt(n)))
    outside = sum(math.comb(n, k) for k in range(rank)) / 2**n
    spread = ordered[n - rank] - ordered[rank - 1]
    return spread / (2 * NormalDist().inv_cdf(1 - outside)) if spread else None


def clustered_wilson(accepted: Array, tried: Array, z: float) -> tuple[float, float]:
    """Return Wilson's interval for sum(accepted) / sum(tried), with the effective number of trials.

    Counts of one sequence share contexts: where they spread more between sequences than coin flips
    do, the number of trials is divided by the ratio of the variances.
    """
    total = float(tried.sum())
    if not total or math.isinf(z):
        return 0.0, 1.0
    share = float(accepted.sum()) / total
    # The variance of independent trials, and the factor by which that of the sequences is larger.
    independent_variance = share * (1 - share) / total
    if not independent_variance:
        return wilson(share * total, total, z)
    inflation = max(1.0, ratio_error(accepted, tried) ** 2 / independent_variance)
    effective = total / inflation
    return wilson(share * effective, effective, z)


def wilson(accepted: float, tried: float, z: float) -> tuple[float, float]:
    """Return Wilson's interval for a share of independent trials, z standard errors to each side."""
    if not tried:
        return 0.0, 1.0
    share = accepted / tried
    center = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half_width = z * math.sqrt(share * (1 - share) / tried + (z / (2 * tried)) ** 2) / (1 + z * z / tried)
    # The ends are exactly 0 and 1 where nothing, or everything, was accepted; rounding would miss them.
    low = 0.0 if share == 0 else max(center - half_width, 0.0)
    high = 1.0 if share == 1 else min(center + half_width, 1.0)
    return low, high
