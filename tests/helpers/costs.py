"""Acceptance rates, costs and cost curves, as strategies."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

ALPHAS = st.integers(0, 10).map(lambda n: n / 10)
COSTS = st.integers(0, 8).map(lambda n: n / 16)
CURVES = st.lists(st.integers(0, 4), min_size=12, max_size=12).map(lambda v: (1 + np.cumsum([0, *v]) / 20).tolist())
