r"""Requests that arrive by a Poisson process at the server of `ways`: mean times in closed form.

Chain.       With n requests served together, C = n clients of a closed loop would end X(n) requests a second
             (`loop.steady`). At a rate R the number in the system is then a chain with

                 p_n ~ prod_{k <= n} R / X(min(k, B)),

             B the most that are served together (a flow-equivalent server). The largest stable rate is X(B).
Corrections. A request that comes while others are served waits for the end of the running cycle, half a cycle in the
             mean. Beyond the limit the wait is that of answers as regular as these are (Cosmetatos; see `closed`).
             What is left out `passes` simulates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from specsim.speed.load.closed import chain, regularity
from specsim.speed.load.loop import answer_cycles, mean_cycles, steady
from specsim.speed.load.request_lengths import Lengths
from specsim.speed.load.ways import Server, Way
from specsim.types import Array


class OpenLoop(NamedTuple):
    """A server at which requests arrive: (B,) seconds of a cycle, and between the ends of requests, of 1, 2, ..., B.

    spread: squared coefficient of variation of the cycles of an answer. wait_s: of a request, before it may be served.
    """

    cycle_s: Array
    between_s: Array
    spread: float
    wait_s: float

    @property
    def stable(self) -> float:
        """The rate that a full server sustains: beyond it the queue grows without end."""
        return float(1 / self.between_s[-1])

    def total_s(self, rate: float) -> float:
        """Return the mean seconds from arrival to the last token, at a rate below the largest stable one."""
        limit = len(self.between_s)
        law, beyond = chain(rate * self.between_s)
        load = rate / self.stable
        queued = regularity(load, limit, self.spread) * beyond / (1 - load)
        number = float(np.arange(limit + 1) @ law) + limit * beyond + queued
        half_cycle_s = float(law[1:limit] @ self.cycle_s[:-1]) / 2
        return self.wait_s + number / rate + half_cycle_s


def open_loop(way: Way, server: Server, limit: int, lengths: Lengths) -> OpenLoop:
    """Return the server that serves so many requests together at most."""
    cycles = answer_cycles(way, lengths)
    at_once = way._replace(wait_s=0.0)
    numbers = range(1, limit + 1)
    between = [steady(at_once, server, n, lengths, cycles).answer_s / n for n in numbers]
    cycle_s = np.array([way.cycle_s(n) for n in numbers])
    return OpenLoop(cycle_s, np.array(between), _spread(way, lengths, cycles), way.wait_s)


def _spread(way: Way, lengths: Lengths, mean: float) -> float:
    """Return the squared coefficient of variation of the cycles of an answer.

    Answers differ in length and kind; those of n tokens by n sigma^2 / tau^3, as renewals of blocks do.
    """
    if not mean:
        return 0.0
    outputs = lengths.outputs.values + (lengths.prompts is None)
    square = 0.0
    for weight, law in zip(way.kinds.weights, way.kinds.length_laws, strict=True):
        emitted = 1 + np.arange(len(law))
        tau = float(law @ emitted)
        noise = (float(law @ emitted**2) - tau**2) / tau**3
        square += weight * float((mean_cycles(law, outputs) ** 2 + noise * (outputs - 1)) @ lengths.outputs.weights)
    return max(square / mean**2 - 1, 0.0)
