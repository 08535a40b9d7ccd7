"""The rank correlation is scipy's, for many rows at once."""

from __future__ import annotations

import numpy as np
from scipy import stats

from real.papers.lab import tuned


def test_ranks() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random((3, 8)), rng.random(8)
    expected = [stats.spearmanr(row, b).statistic for row in a]
    assert np.abs(tuned.correlation(a, b) - expected).max() < 1e-12
    assert tuned.correlation(a, np.ones(8)).tolist() == [0.0] * 3, "a constant has no ranks"
