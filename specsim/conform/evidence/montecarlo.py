"""Monte Carlo: frequencies, looked at again and again with one false-alarm rate for all looks together.

Look k = 1, 2, ... is at 500 * 2^k runs, and may raise a false alarm with probability delta * 6 / (pi k)^2, so that all
of them together do with delta. Between looks nothing is decided, and to stop at any of them is allowed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base.deviation import law_deviation

FIRST = 1000


class Counts(NamedTuple):
    """How often each answer was seen, and the number of looks so far."""

    counts: dict[Any, int]
    runs: int
    looks: int


def sample(draw: Callable[[int], Sequence[Hashable]], enough: Callable[[Counts], bool], *, most: int = 10**6) -> Counts:
    """Run until a look is enough: draw(n) gives n answers; looks are at 1000, 2000, 4000, ... answers."""
    counts: dict[Any, int] = {}
    runs, looks, due = 0, 0, FIRST
    while True:
        for one in draw(due - runs):
            counts[one] = counts.get(one, 0) + 1
        runs, looks, due = due, looks + 1, due * 2
        seen = Counts(counts, runs, looks)
        if due > most or enough(seen):
            return seen


def share(delta: float, look: int) -> float:
    """The part of a false-alarm rate that look number 1, 2, ... may use.

    >>> sum(share(1.0, look) for look in range(1, 10000)) < 1
    True
    """
    return delta * 6 / (math.pi * look) ** 2


def allowed(law: Any, runs: int, delta: float) -> float:
    """Total variation that a sampler with this law exceeds with probability at most delta."""
    return law_deviation(np.asarray(law), runs, delta)


def found(law: Any, runs: int, delta: float, miss: float = 0.01) -> float:
    """Smallest total variation that is seen with probability 1 - miss at this number of runs.

    >>> round(found([0.5, 0.3, 0.2], 100_000, 1e-8), 3)
    0.019
    """
    outcomes = len(np.asarray(law))
    of_frequencies = 0.5 * math.sqrt((outcomes - 1) / runs) + math.sqrt(math.log(1 / miss) / (2 * runs))
    return allowed(law, runs, delta) + of_frequencies
