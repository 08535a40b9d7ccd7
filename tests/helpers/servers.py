"""Servers under load whose cycles are a line in the batch."""

from __future__ import annotations

import numpy as np

from specsim.speed.load.service import Service, of_parts


def line(
    fixed: float, each: float, prompt_s: float, limit: int, output: int, law: list[float] | None = None
) -> Service:
    """Cycles that are a line in the batch."""
    costs = [fixed + each * b for b in range(1, limit + 1)]
    return of_parts(prompt_s, costs, np.array(law or [1.0]), output)
