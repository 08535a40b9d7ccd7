"""Intervals over prompts, the independent units: texts from one prompt are not independent.

Those of ratios of sums are Student's, with the jackknife's standard error. Those of other statistics
(medians of times) are bootstrap intervals, widened for few prompts: plain percentiles of five
prompts cover 85 % where they say 95 %.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from specsim.types import Array

# Resamples of a bootstrap interval.
RESAMPLES = 4_000
# Fewest prompts of a speedup's interval: resamples of three cover 74 % at any width.
FEWEST = 4


class Estimate(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


def typical(groups: Sequence[Sequence[float]]) -> float:
    """Return the median of the groups' medians; groups are prompts or visits.

    Predicted and measured times are estimated by it alike.
    """
    return float(np.median([np.median(group) for group in groups]))


def ratio(top: Array, bottom: Array, *, level: float = 0.95, most: float = float("inf")) -> Estimate:
    """Return sum(top) / sum(bottom) over prompts, with Student's interval.

    Of the interval remains what is possible: nothing above `most`, and nothing below 0 where no
    term is negative. Without an interval for one prompt.

    Examples
    --------
    >>> [round(value, 2) for value in ratio(np.array([1, 3]), np.array([2, 4]), most=1)]
    [0.67, 0.0, 1]
    """
    value, low, high = jackknife((top, bottom), lambda a, b: a / b, level=level)
    least = 0.0 if np.min(top) >= 0 and np.min(bottom) >= 0 else float("-inf")
    if low == float("-inf"):
        return Estimate(value, low, high)
    return Estimate(value, max(low, least), min(high, most))


def speedup(
    tokens: Array,
    blocks: Array,
    plain: Array,
    cycle: Array,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return tau times a plain step over a cycle, with a bootstrap interval.

    Both times are medians over prompts of the prompt's median seconds. Without an interval under
    four prompts.
    """

    def statistic(tokens: Array, blocks: Array, plain: Array, cycle: Array) -> Array:
        """Return the speedup of each resample."""
        tau = tokens.sum(-1) / blocks.sum(-1)
        return tau * np.median(plain, axis=-1) / np.median(cycle, axis=-1)

    estimate = bootstrap((tokens, blocks, plain, cycle), statistic, level, seed)
    if len(tokens) < FEWEST:
        return Estimate(estimate.value, float("-inf"), float("inf"))
    return estimate


def speedup_apart(
    tokens: Array,
    blocks: Array,
    plain: Array,
    cycle: Array,
    *,
    level: float = 0.95,
) -> Estimate:
    """Return tau over many prompts times a plain step over a cycle, timed on few of them.

    The logarithms of both factors add up: that of tau has the jackknife's variance over its
    prompts, that of the time's ratio the variance of a mean over the prompts that were timed, each
    with its own median seconds. The interval is Student's with the degrees of freedom of Welch and
    Satterthwaite.

    Parameters
    ----------
    tokens, blocks : array, shape (n,)
        Written, and target calls, of each prompt.
    plain, cycle : array, shape (m,)
        Seconds of a plain step and of a cycle, of each prompt that was timed.
    level : float
        Of the interval.

    Returns
    -------
    Estimate
        Without an interval where n or m is 1.
    """
    # The value: the logarithm of the time's ratio is a mean over the prompts that were timed.
    tokens, blocks = (np.asarray(values, dtype=np.float64) for values in (tokens, blocks))
    ratios = np.log(np.asarray(plain, dtype=np.float64) / np.asarray(cycle, dtype=np.float64))
    n, m = len(tokens), len(ratios)
    value = float(tokens.sum() / blocks.sum() * np.exp(ratios.mean()))
    if min(n, m) < 2:
        return Estimate(value, float("-inf"), float("inf"))
    from scipy import stats

    # Variances of the two logarithms, and the degrees of freedom of their sum.
    without = np.log((tokens.sum() - tokens) / (blocks.sum() - blocks))
    tau_variance, time_variance = (n - 1) * np.var(without), np.var(ratios, ddof=1) / m
    variance = tau_variance + time_variance
    if variance == 0:
        return Estimate(value, value, value)
    freedom = variance**2 / (tau_variance**2 / (n - 1) + time_variance**2 / (m - 1))
    half_width = float(stats.t.ppf((1 + level) / 2, freedom) * np.sqrt(variance))
    return Estimate(value, value * np.exp(-half_width), value * np.exp(half_width))


def jackknife(
    sums: tuple[Array, ...],
    statistic: Callable[..., Array],
    *,
    level: float,
) -> Estimate:
    """Return a smooth function of sums over prompts, with Student's interval.

    The jackknife leaves each prompt out once.
    """
    data = tuple(np.asarray(d, dtype=np.float64) for d in sums)
    value, n = float(statistic(*(d.sum() for d in data))), len(data[0])
    if n < 2:
        return Estimate(value, float("-inf"), float("inf"))
    # Imported here: it takes longer than showing a record.
    from scipy import stats

    # The statistic without each prompt, and the jackknife's variance of it.
    without = statistic(*(d.sum() - d for d in data))
    half_width = stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt((n - 1) * np.var(without))
    return Estimate(value, float(value - half_width), float(value + half_width))


def bootstrap(
    data: tuple[Array, ...],
    statistic: Callable[..., Array],
    level: float = 0.95,
    seed: int = 0,
) -> Estimate:
    """Return a statistic of arrays with one entry a prompt, with a bootstrap interval.

    The statistic works on the arrays' last axis. The interval is that of percentiles, at the level
    that makes it as long as Student's for the mean of a normal sample of as many prompts
    (Hesterberg 2015, The American Statistician 69:371). Of two and three prompts that is all that
    resamples can give, and too short.
    """
    data = tuple(np.asarray(d, dtype=np.float64) for d in data)
    value, prompts = float(statistic(*data)), len(data[0])
    # One prompt says nothing about the spread between prompts.
    if prompts < 2:
        return Estimate(value, float("-inf"), float("inf"))
    from scipy import stats

    # Resamples have the variance (n - 1) / n of the sample's, and normal tails.
    normal_ends = np.sqrt(prompts / (prompts - 1)) * stats.t.ppf((1 + level) / 2, prompts - 1)

    result = stats.bootstrap(
        data,
        lambda *d, axis: statistic(*d),
        paired=True,
        vectorized=True,
        confidence_level=2 * stats.norm.cdf(normal_ends) - 1,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    interval = result.confidence_interval
    return Estimate(value, float(interval.low), float(interval.high))
