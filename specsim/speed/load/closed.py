"""Latency at a request rate in closed form: a chain on the number of requests in the system.

Model.       Requests arrive by a Poisson process; a server reads prompts first and one by one, then decodes everybody
             for one cycle, up to a limit of sequences.
Chain.       With n requests in the system they leave at the rate that n of them sustain, one in d(n) = T_P + K c(n) / n
             with K cycles a request. It is the law of a processor-sharing queue, which depends on the mean of K alone
             (insensitivity): hence no higher moment of the block-length law.
A line.      Where c(b) = c0 + c1 b and no limit binds, its mean is Kong et al.'s L = C1 / (1 - R C2) with
             C1 = T_P + K c(1), a request alone, and C2 = T_P + K c1.
Corrections. An arrival waits for the end of the running cycle (half a cycle on average); prompts take turns in order
             and are alike (Pollaczek-Khinchine); beyond the limit the wait is scaled by (1 + cv^2) / 2.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.results import result
from specsim.speed.load.service import Service
from specsim.types import Array

# Where the assumptions count as met, fixed on random points before the grid of tests/bench was run.
MOST_LOADED, MOST_READING, MOST_FULL = 0.7, 0.4, 0.05
# Share of the largest stable rate below which latencies are those of no load, to the last bit.
LEAST = 1e-30


@result("total_s", "load")
class RequestTimes(NamedTuple):
    """Mean times of a request at a rate, in the unit of the service.

    load: the rate over the largest stable one. reading: share of time that prompts take. batch: mean number of requests
    in the system, waiting ones included. full: probability that an arrival finds no free place. first_s: to the first
    token; token_s: per further token; total_s: to the last. holds: whether the assumptions do, so that the simulation
    is met within a few percent: load at most 0.7, reading at most 0.4, full at most 0.05; or a limit of 1, where
    this is Pollaczek and Khinchine's formula.

    Examples
    --------
    >>> from specsim import latency, service_costs
    >>> alone = service_costs(latency.constant(0.1), 0.8, gamma=3, prompt=64, output=101, limit=4)
    >>> times = request_times(alone, 0.01)
    >>> round(times.load, 3), round(times.total_s, 2), times.holds
    (0.122, 46.44, True)
    """

    rate: float
    load: float
    reading: float
    batch: float
    full: float
    first_s: float
    token_s: float
    total_s: float
    holds: bool


def stable_rate(service: Service) -> float:
    r"""The largest rate that a server sustains: beyond it the queue grows without end.

    .. math:: R_{\max} = \frac{1}{T_P + E[K] \, c(B) / B}

    Parameters
    ----------
    service : Service
        From `service_costs`; B is its limit.

    Returns
    -------
    float
        Requests per unit of time; with a full batch all the time, even where a smaller one would do more.

    Raises
    ------
    TypeError
        What is given is no Service.

    References
    ----------
    Kleinrock 1975, Queueing Systems, volume 1, section 2.1 (stability).

    Examples
    --------
    >>> from specsim import latency, service_costs
    >>> stable_rate(service_costs(latency.constant(0), gamma=0, prompt=1, output=11, limit=5))
    0.3333333333333333
    """
    check.record(service, "service", Service)
    demand = service.prompt_s + service.mean_cycles * service.cycle_s[-1] / service.limit
    return float(1 / demand)


def request_times(service: Service, rate: float) -> RequestTimes:
    r"""Mean latency of requests that arrive at a rate, in closed form.

    .. math:: p_n \propto \prod_{k=1}^{n} R \, d(\min(k, B)), \quad d(b) = T_P + E[K] \frac{c(b)}{b}, \qquad
        L = \frac{E[n]}{R} + \dots = \frac{C_1}{1 - R C_2} \text{ for a line } c(b) \text{ without a limit}

    It assumes Poisson arrivals of requests that are alike, blocks independent of each other, a cycle's time that
    depends on the batch alone, and prompts read one by one before the next cycle.

    Parameters
    ----------
    service : Service
        From `service_costs`.
    rate : float
        R, requests per unit of time, above 0 and below `stable_rate`.

    Returns
    -------
    RequestTimes
        Means; `simulate_requests` gives quantiles, and their intervals.

    Raises
    ------
    ValueError
        A rate that is not above 0, or not below the largest stable one, which is named.

    References
    ----------
    Kong et al. 2026, arXiv:2605.15051; Kelly 1979, Reversibility and Stochastic Networks, section 3.3 (insensitivity);
    Fuhrmann and Cooper 1985, Operations Research 33:1117 (vacations); Cosmetatos 1976, Operations Research Quarterly
    27:615 (the wait of several servers).

    Examples
    --------
    >>> from specsim import roofline, service_costs
    >>> times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    >>> served = service_costs(times, 0.7, gamma=3, prompt=512, output=256, limit=64)
    >>> [round(request_times(served, rate).total_s, 2) for rate in (0.1, 2, 8)]
    [1.04, 1.09, 1.28]
    """
    # The law of the number of requests in the system; r avoids a division by almost 0.
    largest = stable_rate(service)
    offered = stable(rate, largest)
    r = max(offered, LEAST * largest)
    cycle = np.array(service.cycle_s, dtype=float)
    prompt, mean, most = float(service.prompt_s), float(service.mean_cycles), service.limit
    numbers, beyond = chain(r * (prompt + mean * cycle / np.arange(1, most + 1)))
    load, reading = offered / largest, offered * prompt
    full = float(numbers[most] + beyond)
    # Numbers in the system: up to the limit, and those who wait for a place.
    placed = float(np.arange(most + 1) @ numbers + most * beyond)
    queued = beyond / (1 - load)
    slowest = float(cycle[-1])
    spread = float(service.variance_cycles) * slowest**2 / (prompt + mean * slowest) ** 2
    slot = queued / r * regularity(r / largest, most, spread)
    # Others are met between the first request and the limit: half the running cycle, and their prompts.
    half = float(numbers[1:most] @ cycle[:-1]) / 2
    # busy is 1 - numbers[0], without the cancellation.
    busy = float(numbers[1:].sum() + beyond)
    share = float(numbers[1:most].sum()) / busy
    before = share * reading * prompt / (2 * (1 - reading))
    first = slot + half + before + prompt
    holds = _holds(most, load, reading, full)
    if mean == 0:
        return RequestTimes(offered, load, reading, offered * first, full, first, 0.0, first, holds)
    # Prompts of later arrivals interrupt all cycles but the last.
    last = share * reading * float(numbers[1:] @ cycle) / float(numbers[1:].sum())
    total = max(placed / r + slot + (half + before - last) / (1 - reading), first)
    token = (total - first) / (service.output - 1)
    return RequestTimes(offered, load, reading, offered * total, full, first, token, total, holds)


def stable(rate: float, largest: float) -> float:
    """Return the rate; ValueError if it is not above 0 or cannot be served."""
    r = float(check.scalar(rate, "rate", "(-inf, inf)"))
    if r <= 0:
        raise ValueError(f"rate is {r:g}; it must be above 0, and below {largest:.4g}, the largest stable rate")
    if r >= largest:
        raise ValueError(f"rate is {r:g}, beyond what can be served: the largest stable rate is {largest:.4g}")
    return r


def regularity(load: float, servers: int, spread: float) -> float:
    """Cosmetatos: the wait of demands with squared coefficient of variation `spread`, over that of exponential ones."""
    more = (1 - load) * (servers - 1) * (math.sqrt(4 + 5 * servers) - 2) / (16 * load * servers)
    return spread + (1 - spread) * (1 + more) / 2


def chain(ratios: Array) -> tuple[Array, float]:
    """p_0, ..., p_B and the mass beyond, by logarithms: the products may be large."""
    logs = np.concatenate([[0.0], np.cumsum(np.log(ratios))])
    weights = np.exp(logs - logs.max())
    tail = weights[-1] * ratios[-1] / (1 - ratios[-1])
    total = weights.sum() + tail
    return weights / total, float(tail / total)


def _holds(limit: int, load: float, reading: float, full: float) -> bool:
    """Return whether the closed form is within a few percent of the simulation; with a limit of 1 it is exact."""
    return limit == 1 or (load <= MOST_LOADED and reading <= MOST_READING and full <= MOST_FULL)
