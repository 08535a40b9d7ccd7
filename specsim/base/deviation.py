"""How far frequencies may be from their law: the inequality behind every test of them."""

from __future__ import annotations

import math

import numpy as np

from specsim.types import Array


def law_deviation(law: Array, runs: float, delta: float) -> float:
    """Return the TV distance of `runs` draws' frequencies from a law (V,) that chance delta at most exceeds.

    Its mean is at most 1/2 sum_v sqrt(p_v (1 - p_v) / N), and one draw moves it by at most 1/N:
    McDiarmid's inequality. It holds for means of independent laws with this mean, too, as they vary
    less than draws.

    >>> round(law_deviation(np.array([0.5, 0.5]), 10_000, 1e-6), 4)
    0.0313
    """
    # A probability may be a rounding above 1.
    mean = 0.5 * float(np.sqrt(law * (1 - law).clip(0) / runs).sum())
    return mean + math.sqrt(math.log(1 / delta) / (2 * runs))
