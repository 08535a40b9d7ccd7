"""The server of `closed`, event by event: continuous batching with ragged blocks, times of requests, quantiles.

Between an admission and the next finished answer the batch is the same, so all its cycles are one event: an answer's
number of cycles is drawn at once from its exact law (`cycle_law`), and a run costs two events a request, however long
the answers are. Processes of simpy give the same times at 2 to 28 times the work (`bench_load.py --simpy`; the more
cycles an answer takes and the fewer share them, the more). The loop is generic: Fractions in, exact times out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from heapq import heappop, heappush
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check, limits
from specsim.base.intervals import student_quantile
from specsim.base.results import result
from specsim.base.uniforms import keyed_uniforms
from specsim.speed.load.closed import stable, stable_rate
from specsim.speed.load.service import Service
from specsim.speed.prediction import Estimate
from specsim.types import Array

MOST_REQUESTS = 1 << 20
# The latest time of a request, in the unit of the service: sums of later times may leave the range of floats.
LATEST = 1e300
# Shares of a run's requests, at its beginning and end, that are served but not measured.
WARM, COOL = 0.2, 0.05


class Run(NamedTuple):
    """One run from empty to empty: times of every request, in the order of arrival.

    arrival, placed, first, done (n,): when it came, when its prompt was begun, its first token, its last. gaps: (time,
    how many, requests placed before) of the gaps between the blocks that requests are sent. area: time integral of the
    number of requests in the system, added up event by event: Little's law as an identity says that it is the sum of
    done - arrival.
    """

    arrival: list[Any]
    placed: list[Any]
    first: list[Any]
    done: list[Any]
    gaps: list[tuple[Any, int, int]]
    area: Any


class Quantiles(NamedTuple):
    """Mean (with the interval of independent runs), median and 99 % quantile of a time."""

    mean: Estimate
    p50: float
    p99: float


@result("rate")
class Simulated(NamedTuple):
    """Times of requests over independent runs, in the unit of the service.

    first: to the first token; token: between tokens, those of one block coming together; pace: an answer's time after
    its first token, over its further tokens; total: to the last token. batch: mean number of requests in the system.
    requests: measured ones, of all runs.

    Examples
    --------
    >>> from specsim import latency, service_costs
    >>> alone = service_costs(latency.constant(0), gamma=0, prompt=1, output=4, limit=1)
    >>> times = simulate_requests(alone, 1e-6, requests=10, runs=2)
    >>> round(times.first.p99, 6), round(times.token.p50, 6), round(times.total.mean.value, 6)
    (1.0, 1.0, 4.0)
    """

    rate: float
    first: Quantiles
    token: Quantiles
    pace: Quantiles
    total: Quantiles
    batch: Estimate
    requests: int


def simulate_requests(
    service: Service, rate: float, *, requests: int = 4000, runs: int = 8, seed: int = 0, level: float = 0.95
) -> Simulated:
    r"""Simulate the server, and return the times of requests that arrive at a rate.

    Requests arrive by a Poisson process. Whenever a cycle ends, prompts that wait are read one by one while there is a
    free place, and then all decode for one cycle, each emitting its own number of tokens. Runs start empty; the first
    20 % of a run's requests and the last 5 % are served, but not measured.

    Parameters
    ----------
    service : Service
        From `service_costs`.
    rate : float
        Requests per unit of time, above 0 and below `stable_rate`.
    requests : int
        Of each run, at least 10.
    runs : int
        Independent runs, at least 2: their spread gives the intervals.
    seed : int
        Of the arrivals and of the numbers of cycles.
    level : float
        Of the intervals.

    Returns
    -------
    Simulated
        Means with intervals (Student's t over the runs), medians and 99 % quantiles.

    Raises
    ------
    ValueError
        A rate that is not above 0, or not below the largest stable one, which is named; too many requests.

    References
    ----------
    Yu et al. 2022, Orca, OSDI (continuous batching); Little 1961, Operations Research 9:383.

    Examples
    --------
    >>> from specsim import latency, service_costs
    >>> alone = service_costs(latency.constant(0.1), 0.8, gamma=3, prompt=64, output=101, limit=4)
    >>> times = simulate_requests(alone, 0.04, requests=400, runs=4)
    >>> times.total.mean.low < times.total.mean.value < times.total.p99
    True
    """
    # Validate.
    check.record(service, "service", Service)
    r = stable(rate, stable_rate(service))
    n, repeats = check.integer(requests, "requests", 10, MOST_REQUESTS), check.integer(runs, "runs", 2, limits.MAX_RUNS)
    if n * repeats > MOST_REQUESTS:
        raise ValueError(f"{repeats} runs of {n} requests are {n * repeats}, more than {MOST_REQUESTS}")
    if n > r * LATEST:
        raise ValueError(f"rate is {r:g}; {n} requests at that rate come at times beyond {LATEST:g}")
    # Independent runs, and Student's intervals over them.
    t = student_quantile(level, repeats - 1)
    measured = [_measured(serve(*drawn(service, r, n, seed, i), service, areas=False), service) for i in range(repeats)]
    first, token, pace, total = (_quantiles([run.times[k] for run in measured], t) for k in range(4))
    batch = _interval([run.batch for run in measured], t)
    return Simulated(r, first, token, pace, total, batch, sum(len(run.times[0][0]) for run in measured))


def drawn(service: Service, rate: float, requests: int, seed: int, run: int) -> tuple[list[float], list[int]]:
    """Return arrivals of a Poisson process, and the number of cycles of each request."""
    u = keyed_uniforms(seed, run, 0, 2 * requests)
    cdf = np.cumsum(service.cycles.astype(float))
    cycles = np.minimum(np.searchsorted(cdf, u[requests:] * cdf[-1], side="right"), len(cdf) - 1)
    return np.cumsum(-np.log1p(-u[:requests]) / rate).tolist(), cycles.tolist()


def serve(arrivals: Sequence[Any], cycles: Sequence[int], service: Service, *, areas: bool = True) -> Run:
    """Simulate one run: request i comes at arrivals[i] (in order) and takes cycles[i] cycles after its prompt.

    areas: add up the area event by event, which takes a third of the time; else it is the sum of done - arrival.
    """
    n, most, prompt, cycle_s = len(arrivals), service.limit, service.prompt_s, service.cycle_s
    placed, first, done = list(arrivals), list(arrivals), list(arrivals)
    gaps: list[tuple[Any, int, int]] = []
    # active: a heap of (cycle at whose end the request is done, request).
    active: list[tuple[int, int]] = []
    time: Any = arrivals[0]
    area: Any = time * 0
    # place: the next request to place; seen: arrivals so far; count: cycles so far.
    place = seen = count = 0
    while place < n or active:
        # An idle server waits for the next request; then prompts are read, up to the limit.
        if not active and arrivals[place] > time:
            time = arrivals[place]
        began, old = time, len(active)
        fresh = []
        while place < n and len(active) < most and arrivals[place] <= time:
            placed[place] = time
            if areas:
                area, seen = _advance(area, arrivals, seen, place - len(active), time, time + prompt)
            time += prompt
            first[place] = done[place] = time
            if cycles[place]:
                heappush(active, (count + cycles[place], place))
                fresh.append(time)
            place += 1
        if not active:
            continue
        # Cycles until an answer is done, or until the next request can be placed.
        batch = len(active)
        cycle, steps = cycle_s[batch - 1], active[0][0] - count
        if place < n and batch < most:
            steps = min(steps, max(math.ceil((arrivals[place] - time) / cycle), 1))
        # Gaps between blocks: of those that waited for prompts, of the new ones, and of all further cycles.
        late = old if time > began else 0
        if late:
            gaps.append((time - began + cycle, late, place))
        gaps += [(time - sent + cycle, 1, place) for sent in fresh]
        if batch * steps > late + len(fresh):
            gaps.append((cycle, batch * steps - late - len(fresh), place))
        # These cycles run, and answers that are done leave.
        end = time + steps * cycle
        if areas:
            area, seen = _advance(area, arrivals, seen, place - batch, time, end)
        time, count = end, count + steps
        while active and active[0][0] <= count:
            done[heappop(active)[1]] = time
    if not areas:
        area = sum(done) - sum(arrivals)
    return Run(list(arrivals), placed, first, done, gaps, area)


def _advance(area: Any, arrivals: Sequence[Any], seen: int, left: int, begin: Any, end: Any) -> tuple[Any, int]:
    """Add a time from `begin` to `end`, in which nobody leaves, to the area; return it and the arrivals up to `end`.

    area: the time integral of the number of requests in the system. seen: how many arrivals it counts so far. left: how
    many requests have left before.
    """
    # Requests that arrived before, out of an idle time or as the last stretch ended, are in the system throughout.
    while seen < len(arrivals) and arrivals[seen] <= begin:
        seen += 1
    area += (seen - left) * (end - begin)
    # Each that arrives meanwhile is in the system from then on.
    while seen < len(arrivals) and arrivals[seen] < end:
        area += end - arrivals[seen]
        seen += 1
    return area, seen


class _Measured(NamedTuple):
    """One run: (times, weights) to the first token, between tokens, per further token and in all; mean batch."""

    times: list[tuple[Array, Array]]
    batch: float


def _measured(run: Run, service: Service) -> _Measured:
    """Return the times of a run's requests, without those at its beginning and end."""
    # Requests and gaps in the middle of the run; each request counts alike.
    n = len(run.arrival)
    low, high = int(WARM * n), n - int(COOL * n)
    arrival, first, done = (np.array(times[low:high], dtype=float) for times in (run.arrival, run.first, run.done))
    further = max(service.output - 1, 1)
    alike = np.ones(len(arrival))
    gaps = np.array([(float(gap), many) for gap, many, place in run.gaps if low < place <= high]).reshape(-1, 2)
    # Tokens inside a block come together: gaps of 0, in proportion to the gaps between blocks.
    together = gaps[:, 1].sum() * (further / max(float(service.mean_cycles), 1e-300) - 1)
    times = [
        (first - arrival, alike),
        (np.append(gaps[:, 0], 0.0), np.append(gaps[:, 1], together if len(gaps) else 1.0)),
        ((done - first) / further, alike),
        (done - arrival, alike),
    ]
    return _Measured(times, float(run.area / (max(run.done) - run.arrival[0])))


def _quantiles(samples: list[tuple[Array, Array]], t: float) -> Quantiles:
    """Return mean, median and 99 % quantile of (values, weights), one pair for each run."""
    values, weights = (np.concatenate(part) for part in zip(*samples, strict=True))
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[order])
    at = np.searchsorted(reached, np.array([0.5, 0.99]) * reached[-1] * (1 - 1e-12))
    p50, p99 = values[order][np.minimum(at, len(values) - 1)].tolist()
    return Quantiles(_interval([float(np.average(v, weights=w)) for v, w in samples], t), p50, p99)


def _interval(means: list[float], t: float) -> Estimate:
    """Return the mean of independent runs, with Student's interval; t: its quantile."""
    mean = float(np.mean(means))
    half = t * float(np.std(means, ddof=1)) / math.sqrt(len(means))
    return Estimate(mean, mean - half, mean + half)
