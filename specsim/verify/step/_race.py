"""Nodes in time of the race in which token i arrives at rate q_i: the first K to arrive are K drafts (T15).

Integrals over time become sums over equal steps of its logarithm, with a rigorous error.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from specsim.types import Array

# Half-widths of strips around the real axis of log T, for the error.
ANGLES = np.linspace(0.2, 1.5, 131)
# Largest share of an integral that a sum over steps leaves out, and each of its ends.
TOLERANCE = 2.5e-14
# Arrivals q_i T are products up to this time; later ones come from logarithms, as T could overflow.
LATEST = 1e290


class Race(NamedTuple):
    """Tokens of one NumPy row, and the nodes in time (N,)."""

    q: Array  # (V,)
    num_drafts: int
    heavy: Array  # the K - 1 likeliest tokens
    light: Array  # all others, of which every q_i T is at most about 50
    log_time: Array
    step: float  # weight of a node, as a step of log T

    @property
    def light_left(self) -> Array:
        """Probability (N,) that no light token has arrived."""
        return np.exp(-arrivals(self, self.light).sum(axis=0))


def race(q: Array, num_drafts: int) -> Race:
    """The race of one row q (V,) of more than K tokens, all of which have q > 0."""
    order = np.argsort(-q, kind="stable")
    heavy, light = order[: num_drafts - 1], np.sort(order[num_drafts - 1 :])
    # Before `start` hardly ever have K tokens arrived, after `stop` hardly ever fewer.
    start = math.log(TOLERANCE) / num_drafts
    stop = math.log(longest(num_drafts, TOLERANCE)) - math.log(q[light].sum())
    count = math.ceil((stop - start) / widest_step(num_drafts, TOLERANCE)) + 1
    return Race(q, num_drafts, heavy, light, np.linspace(start, stop, count), (stop - start) / (count - 1))


def arrivals(run: Race, tokens: Array) -> Array:
    """q_i T (n, N) of some tokens; infinite where it overflows."""
    if run.log_time[-1] < math.log(LATEST):
        return np.asarray(run.q[tokens, None] * np.exp(run.log_time))
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(np.log(run.q[tokens, None]) + run.log_time))


@lru_cache
def longest(num_drafts: int, tolerance: float) -> int:
    """The least whole mean of a Poisson number that is under num_drafts with at most this probability."""
    mean = num_drafts
    while sum(math.exp(j * math.log(mean) - mean - math.lgamma(j + 1)) for j in range(num_drafts)) > tolerance:
        mean += 1
    return mean


@lru_cache
def widest_step(num_drafts: int, tolerance: float) -> float:
    """The widest step of log T whose sum is within this fraction of the integral."""
    decay = np.logaddexp(0, math.log(2 / tolerance) - num_drafts * np.log(np.cos(ANGLES)))
    return float(np.max(2 * math.pi * ANGLES / decay))
