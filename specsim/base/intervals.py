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
    total = float(tried.sum())
    if not total or math.isinf(z):
        return 0.0, 1.0
    share = float(kept.sum()) / total
    coins = share * (1 - share) / total
    worth = total / max(1.0, ratio_error(kept, tried) ** 2 / coins) if coins else total
    center = (share + z * z / (2 * worth)) / (1 + z * z / worth)
    half = z * math.sqrt(share * (1 - share) / worth + (z / (2 * worth)) ** 2) / (1 + z * z / worth)
    return max(center - half, 0.0), min(center + half, 1.0)
