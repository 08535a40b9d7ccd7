"""Logs of blocks, drawn from hazards."""

from __future__ import annotations

from typing import Any

import numpy as np


def blocks(seed: int, count: int = 20_000) -> tuple[Any, Any]:
    """Accepted and drafted of blocks with known hazards, drafted at lengths that have nothing to do with them."""
    rng = np.random.default_rng(seed)
    kept = (rng.random((count, 4)) < [0.8, 0.7, 0.6, 0.5]).cumprod(axis=1).sum(axis=1)
    drafted = rng.integers(0, 5, count)
    return np.minimum(kept, drafted), drafted
