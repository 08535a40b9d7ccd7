"""Bootstrap intervals of ratios of sums, resampling prompts: texts from one prompt are not independent."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import stats

from specsim.types import Array

RESAMPLES = 4_000


class Estimate(NamedTuple):
    """A value with its interval."""

    value: float
    low: float
    high: float


def ratio(top: Array, bottom: Array, *, level: float = 0.95, seed: int = 0) -> Estimate:
    """sum(top) / sum(bottom) over prompts, with a percentile interval."""
    return _bootstrap((top, bottom), lambda a, b: a.sum(-1) / b.sum(-1), level, seed)


def ratio_difference(
    tokens: Array, blocks: Array, text: Array, expected: Array, *, level: float, seed: int = 0
) -> Estimate:
    """sum(tokens)/sum(blocks) - sum(text)/sum(expected), prompts paired."""
    return _bootstrap(
        (tokens, blocks, text, expected),
        lambda a, b, c, d: a.sum(-1) / b.sum(-1) - c.sum(-1) / d.sum(-1),
        level,
        seed,
    )


def speedup(
    tokens: Array, blocks: Array, plain: Array, cycle: Array, *, level: float = 0.95, seed: int = 0
) -> Estimate:
    """tau times a plain step over a cycle, each the median over prompts of the prompt's own median seconds."""
    return _bootstrap(
        (tokens, blocks, plain, cycle),
        lambda a, b, c, d: a.sum(-1) / b.sum(-1) * np.median(c, axis=-1) / np.median(d, axis=-1),
        level,
        seed,
    )


def _bootstrap(data: tuple[Array, ...], statistic: Callable[..., Array], level: float, seed: int) -> Estimate:
    data = tuple(np.asarray(d, dtype=np.float64) for d in data)
    value = float(statistic(*data))
    if len(data[0]) < 2:  # one prompt says nothing about the spread between prompts
        return Estimate(value, float("-inf"), float("inf"))
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
