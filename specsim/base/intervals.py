"""Intervals of shares and ratios."""

from __future__ import annotations

import math

from specsim.base import check
from specsim.types import Array


def student_quantile(level: float, freedom: int) -> float:
    """Two-sided quantile of Student's t; infinite without a degree of freedom."""
    level = float(check.scalar(level, "level", "(0, 1)"))
    if freedom < 1:
        return math.inf
    from scipy.special import stdtrit

    return -float(stdtrit(freedom, (1 - level) / 2))


def ratio_error(top: Array, bottom: Array) -> float:
    """Standard error of sum(top) / sum(bottom) over independent pairs."""
    n, total = len(top), float(bottom.sum())
    if n < 2 or not total:
        return 1.0
    off = top - bottom * (float(top.sum()) / total)
    return math.sqrt(n / (n - 1) * float(off @ off)) / total


def clustered_wilson(kept: Array, tried: Array, z: float) -> tuple[float, float]:
    """Wilson's interval for sum(kept) / sum(tried), for as many trials as would be worth as much if independent.

    Counts of one sequence share contexts: where they spread more between sequences than coin flips do, the number of
    trials is divided by the ratio of the variances.
    """
    total = float(tried.sum())
    if not total or math.isinf(z):
        return 0.0, 1.0
    share = float(kept.sum()) / total
    coins = share * (1 - share) / total
    worth = total / max(1.0, ratio_error(kept, tried) ** 2 / coins) if coins else total
    return wilson(share * worth, worth, z)


def wilson(kept: float, tried: float, z: float) -> tuple[float, float]:
    """Wilson's interval for a share of independent trials, z standard errors to each side."""
    if not tried:
        return 0.0, 1.0
    share = kept / tried
    center = (share + z * z / (2 * tried)) / (1 + z * z / tried)
    half = z * math.sqrt(share * (1 - share) / tried + (z / (2 * tried)) ** 2) / (1 + z * z / tried)
    # The ends are 0 and 1 exactly where nothing, or everything, was kept; rounding would miss them.
    return 0.0 if share == 0 else max(center - half, 0.0), 1.0 if share == 1 else min(center + half, 1.0)
