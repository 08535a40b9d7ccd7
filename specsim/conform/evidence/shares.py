"""Shares of events among independent runs: how far may each be from its expectation?

A mean of n independent numbers in [0, 1] with expectation e is x or further from e, on its side,
with probability at most exp(-n KL(x, e)), where KL(x, e) = x ln(x/e) + (1 - x) ln((1 - x)/(1 - e))
(Chernoff, Hoeffding 1963). Of m events, each with two sides, any is so far with probability at most
delta where n KL > ln(2 m / delta). Rare events are the telling ones: one expected in 1 of 500 runs
and seen in 1 of 50 is decided by some 300 runs.
"""

from __future__ import annotations

import math
from typing import NamedTuple

# Steps of bisection: a double has no more bits.
BITS = 60


class Share(NamedTuple):
    """How often an event was seen, and how often it should be; `words` name it."""

    words: str
    observed: float
    expected: float


def divergence(observed: float, expected: float) -> float:
    """Return the Kullback-Leibler divergence of two coins, in nats; infinite if an impossible event was seen.

    >>> round(divergence(0.02, 0.002), 4), divergence(0.1, 0.0)
    (0.0282, inf)
    """
    total = 0.0
    for seen, due in ((observed, expected), (1 - observed, 1 - expected)):
        if seen > 0:
            total += seen * math.log(seen / due) if due > 0 else math.inf
    return max(total, 0.0)


def nats(events: int, delta: float) -> float:
    """Return the bound that n KL of any of the events exceeds with probability at most delta."""
    return math.log(2 * events / delta)


def excess(share: Share, runs: int, rounding: float) -> float:
    """Return n KL of a share beyond what rounding of the laws explains."""
    nearest = min(max(share.observed, share.expected - rounding), share.expected + rounding)
    return runs * divergence(share.observed, min(max(nearest, 0.0), 1.0))


def seen_from(expected: float, runs: int, limit: float) -> float:
    """Return the smallest deviation of a share, on either side, whose n KL reaches the limit; 1 if none does.

    >>> round(seen_from(0.5, 2000, 25.0), 3)
    0.079
    """
    low, high = 0.0, max(expected, 1 - expected)
    sign = 1 if expected <= 0.5 else -1
    if runs * divergence(expected + sign * high, expected) < limit:
        return 1.0
    for _ in range(BITS):
        middle = (low + high) / 2
        reached = runs * divergence(expected + sign * middle, expected) >= limit
        low, high = (low, middle) if reached else (middle, high)
    return high
