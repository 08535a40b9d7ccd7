"""Monte Carlo: frequencies, looked at again and again with one false-alarm rate for all looks together.

Look k = 1, 2, ... is at 500 * 2^k runs, and may raise a false alarm with probability delta * 6 /
(pi k)^2, so that all of them together do with delta (a union bound). Between looks nothing is
decided, and to stop at any of them is allowed, whatever was seen. How many runs there are at most
is fixed before the first: as many as let the last look see a total variation of `WANTED`. So a
subject that is right is run equally often on a slow machine, and no longer than that.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base.deviation import law_deviation

# Runs at the first look.
FIRST = 1000
# The smallest total variation that an observation is to see: after so many runs it ends.
WANTED = 0.05
# A test that can see no smaller total variation decides nothing.
UNDECIDED = 0.1


class Counts(NamedTuple):
    """How often each answer was seen, and the number of looks so far."""

    counts: Mapping[Any, int]
    runs: int
    looks: int


def sample(draw: Callable[[int], Sequence[Hashable]], enough: Callable[[Counts], bool], *, most: int = 10**6) -> Counts:
    """Run until a look is enough: draw(n) gives n answers.

    Looks are at 1000, 2000, 4000, ... answers and at `most`.
    """
    counts: Counter[Any] = Counter()
    runs, looks, due = 0, 0, min(FIRST, most)
    while True:
        counts.update(draw(due - runs))
        runs, looks, due = due, looks + 1, min(2 * due, most)
        seen = Counts(counts, runs, looks)
        if runs == most or enough(seen):
            return seen


def share(delta: float, look: int) -> float:
    """Return the part of a false-alarm rate that look number 1, 2, ... may use.

    >>> sum(share(1.0, look) for look in range(1, 10000)) < 1
    True
    """
    return delta * 6 / (math.pi * look) ** 2


def needed(precision: Callable[[int, float], float], delta: float, wanted: float) -> int:
    """Return the smallest number of runs at which precision(runs, delta of the last look) is as wanted.

    >>> runs = needed(lambda runs, delta: detectable([0.5, 0.3, 0.2], runs, delta), 1e-8, 0.02)
    >>> runs, round(detectable([0.5, 0.3, 0.2], runs, share(1e-8, 8)), 4)
    (99242, 0.02)
    """
    # Double the runs until they are enough, then bisect between the last two.
    look, last = 1, FIRST
    while precision(last, share(delta, look)) > wanted:
        look, last = look + 1, 2 * last
    if look == 1:
        return FIRST
    between = range(last // 2 + 1, last)
    return between[0] + bisect_left(between, True, key=lambda runs: precision(runs, share(delta, look)) <= wanted)


def allowed(law: Any, runs: int, delta: float) -> float:
    """Return the total variation that a sampler with this law exceeds with probability at most delta."""
    return law_deviation(np.asarray(law), runs, delta)


def mean_allowed(width: float, runs: int, delta: float) -> float:
    """Return the excess of a mean of numbers in [0, width] that has probability at most delta (Hoeffding).

    >>> round(mean_allowed(2, 10_000, 1e-6), 4)
    0.0526
    """
    return width * math.sqrt(math.log(1 / delta) / (2 * runs))


def detectable(law: Any, runs: int, delta: float, miss: float = 0.01) -> float:
    """Return the smallest total variation that is seen with probability 1 - miss at this number of runs.

    >>> round(detectable([0.5, 0.3, 0.2], 100_000, 1e-8), 3)
    0.019
    """
    outcomes = len(np.asarray(law))
    of_frequencies = 0.5 * math.sqrt((outcomes - 1) / runs) + math.sqrt(math.log(1 / miss) / (2 * runs))
    return allowed(law, runs, delta) + of_frequencies
