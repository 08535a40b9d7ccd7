"""The server cycle by cycle, where the way of decoding is chosen anew before each: what a controller does under load.

`serve` draws an answer's cycles at once, which one length allows; here every block is drawn, as the length may change.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.results import result
from specsim.speed.load.service import Service
from specsim.types import Array

# Uniforms drawn at once: 128 KB.
CHUNK = 1 << 14


class Live(NamedTuple):
    """The state that a controller sees before a cycle: time, sequences that decode and wait, mean tokens written."""

    time: float
    batch: int
    waiting: int
    written: float


@result("busy_s", "cycles", rows=lambda chosen: chosen.requests())
class Chosen(NamedTuple):
    """Times of requests under a controller, in the order of arrival, and how many cycles each way of decoding ran.

    arrival, first, done (n,): when a request came, its first token, its last. cycles (ways,). busy_s: device time.

    Examples
    --------
    >>> from specsim import latency, service_costs
    >>> sizes = {"prompt": 1, "output": 5, "limit": 2}
    >>> ways = [service_costs(latency.constant(0.5), 1.0, gamma=g, **sizes) for g in (0, 1)]
    >>> served = serve_by_choice([0.0, 9.0], ways, lambda live: int(live.time > 5))
    >>> served.done, served.cycles.tolist()
    ([5.0, 13.0], [4, 2])
    """

    arrival: list[float]
    first: list[float]
    done: list[float]
    cycles: Array
    busy_s: float

    def requests(self) -> list[dict[str, float]]:
        """Return one row for each request: when it came, its first token and its last."""
        times = zip(self.arrival, self.first, self.done, strict=True)
        return [{"arrival": came, "first": first, "done": done} for came, first, done in times]


def serve_by_choice(
    arrivals: Sequence[float], ways: Sequence[Service], choose: Callable[[Live], int], *, seed: int = 0
) -> Chosen:
    r"""Serve requests that arrive at these times, asking before each cycle how to decode.

    The server is that of `simulate_requests`: prompts first, one by one, while there is a free place; then one cycle of
    all. Arrivals may follow any process, such as the load of a day.

    Parameters
    ----------
    arrivals : sequence of float
        Times, which do not decrease.
    ways : sequence of Service
        Ways of decoding (lengths, plain decoding), for the same limit and answers. Prompts are read as the first says.
    choose : callable
        From a `Live` record to the index of a way.
    seed : int
        Of the blocks.

    Returns
    -------
    Chosen
        Times of every request; sums and quantiles are the caller's.

    Raises
    ------
    ValueError
        Arrivals that decrease, no way, ways of different limits or answers, or a choice that is no index of one.

    References
    ----------
    SmartSpec, arXiv:2406.14066 (the length by load).

    Examples
    --------
    >>> from specsim import latency, service_costs
    >>> plain = service_costs(latency.constant(0), gamma=0, prompt=1, output=3, limit=1)
    >>> serve_by_choice([0.0, 0.0], [plain], lambda live: 0).done
    [3.0, 6.0]
    """
    # Validate the arrivals, the ways to decode, and the controller.
    came = np.asarray(check.real_values(arrivals, "arrivals", 0, np.inf), dtype=float)
    if came.ndim != 1 or not np.isfinite(came).all():
        raise ValueError(f"arrivals must be finite times of shape (n,), got shape {came.shape}")
    times = came.tolist()
    for i in range(1, len(times)):
        if times[i] < times[i - 1]:
            raise ValueError(f"arrivals[{i}] is {times[i]:g}, before the one in front of it, {times[i - 1]:g}")
    if not isinstance(ways, (list, tuple)) or not ways:
        raise ValueError(f"ways must be a list of one Service at least, got {check.shown(ways)}")
    for k, way in enumerate(ways):
        check.record(way, f"ways[{k}]", Service)
        if (way.limit, way.output) != (ways[0].limit, ways[0].output):
            raise ValueError(f"ways[{k}] has another limit or answer than ways[0]; all must serve the same requests")
    if not callable(choose):
        raise TypeError(f"choose must be a function of a Live record, got {check.shown(choose)}")
    check.integer(seed, "seed", 0, limits.MAX_KEY)
    # bounds: cumulative laws of the tokens of a block, by which a uniform is searched.
    generator = np.random.Generator(np.random.Philox(key=np.array([seed, 0], dtype=np.uint64)))
    bounds = [np.cumsum(np.asarray(way.length_law, dtype=float))[:-1] for way in ways]
    most, output, prompt = ways[0].limit, ways[0].output, float(ways[0].prompt_s)
    first, done, cycles = list(times), list(times), np.zeros(len(ways), dtype=int)
    # who, left: the requests that decode, and the tokens that each still needs.
    who, left = np.zeros(0, dtype=int), np.zeros(0, dtype=int)
    stock, used = generator.random(CHUNK), 0
    time = busy = 0.0
    place = 0
    while place < len(times) or len(who):
        # An idle server waits for the next request; then prompts are read, up to the limit.
        if not len(who) and times[place] > time:
            time = times[place]
        while place < len(times) and len(who) < most and times[place] <= time:
            time, busy = time + prompt, busy + prompt
            first[place] = done[place] = time
            if output > 1:
                who, left = np.append(who, place), np.append(left, output - 1)
            place += 1
        batch = len(who)
        if not batch:
            continue
        # The controller chooses; every sequence draws the tokens of its block.
        waiting = int(np.searchsorted(came, time, side="right")) - place
        k = choose(Live(time, batch, waiting, output - float(left.mean())))
        if k not in range(len(ways)):
            raise ValueError(f"choose gave {check.shown(k)}; there are {len(ways)} ways")
        if used + batch > len(stock):
            stock, used = generator.random(max(CHUNK, batch)), 0
        left = left - 1 - np.searchsorted(bounds[k], stock[used : used + batch], side="right")
        used += batch
        # The cycle runs, and answers that are complete leave.
        cycle = float(ways[k].cycle_s[batch - 1])
        time, busy = time + cycle, busy + cycle
        cycles[k] += 1
        ended = left <= 0
        if ended.any():
            for i in who[ended].tolist():
                done[i] = time
            who, left = who[~ended], left[~ended]
    return Chosen(times, first, done, cycles, busy)
