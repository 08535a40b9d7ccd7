"""Tables of what a draft sees and what is kept, and the times of blocks, in rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

F = Fraction
Array = Any


def table(rng: np.random.Generator, *shape: int) -> Array:
    """Rational tables, zeros included, the last two axes a law."""
    counts = rng.integers(0, 4, shape)
    counts[..., 0, 0] += 1
    total = counts.sum(axis=(-1, -2), keepdims=True)
    return np.vectorize(F)(counts, np.broadcast_to(total, counts.shape))


def times_of(rng: np.random.Generator, n: int) -> tuple[Any, list[F]]:
    """Draft cost, overhead and a curve that need not be smooth; and T for 0..n drafts, by hand."""
    c, o = (F(int(v), 20) for v in rng.integers(0, 6, 2))
    curve = [F(1), *(F(int(v), 10) for v in 10 + np.cumsum(rng.integers(-1, 4, n)).clip(0))]
    costs = {"cost_ratio": c, "overhead": o, "verify_cost": curve}
    return costs, [F(1), *(g * c + curve[g] + o for g in range(1, n + 1))]
