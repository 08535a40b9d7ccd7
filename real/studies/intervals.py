"""Intervals over prompts, the independent units: texts from one prompt are not independent.

Shown one by one they are bootstrap intervals. Those that must hold many at once lie far out in the tails, where a
bootstrap has too few resamples, and too little spread if prompts are few: they are Student's, with the jackknife's
standard error.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from specsim.types import Array

RESAMPLES = 4_000


class Estimate(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


def typical(groups: Sequence[Sequence[float]]) -> float:
    """The median over groups (prompts, visits) of each group's median: one estimator for every time, told or found."""
    return float(np.median([np.median(group) for group in groups]))


def ratio(top: Array, bottom: Array, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """sum(top) / sum(bottom) over prompts, with a percentile interval."""
    return bootstrap((top, bottom), lambda a, b: a.sum(-1) / b.sum(-1), level, seed)


def speedup(
    tokens: Array, blocks: Array, plain: Array, cycle: Array, *, level: float = 0.95, seed: int = 0
) -> Estimate:
    """tau times a plain step over a cycle, each the median over prompts of the prompt's own median seconds."""
    return bootstrap(
        (tokens, blocks, plain, cycle),
        lambda a, b, c, d: a.sum(-1) / b.sum(-1) * np.median(c, axis=-1) / np.median(d, axis=-1),
        level,
        seed,
    )


def jackknife(sums: tuple[Array, ...], statistic: Callable[..., Array], *, level: float) -> Estimate:
    """A smooth function of sums over prompts, with Student's interval: each prompt is left out once."""
    data = tuple(np.asarray(d, dtype=np.float64) for d in sums)
    value, n = float(statistic(*(d.sum() for d in data))), len(data[0])
    if n < 2:
        return Estimate(value, float("-inf"), float("inf"))
    from scipy import stats  # which takes longer to import than a record to show

    without = statistic(*(d.sum() - d for d in data))
    half = stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt((n - 1) * np.var(without))
    return Estimate(value, float(value - half), float(value + half))


def bootstrap(data: tuple[Array, ...], statistic: Callable[..., Array], level: float = 0.95, seed: int = 0) -> Estimate:
    """A statistic of arrays (one entry a prompt) that works on their last axis, with a percentile interval."""
    data = tuple(np.asarray(d, dtype=np.float64) for d in data)
    value = float(statistic(*data))
    if len(data[0]) < 2:  # one prompt says nothing about the spread between prompts
        return Estimate(value, float("-inf"), float("inf"))
    from scipy import stats

    result = stats.bootstrap(
        data,
        lambda *d, axis: statistic(*d),
        paired=True,
        vectorized=True,
        confidence_level=level,
        n_resamples=RESAMPLES,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return Estimate(value, float(result.confidence_interval.low), float(result.confidence_interval.high))
