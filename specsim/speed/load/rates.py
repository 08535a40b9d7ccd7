"""Decisions about load: the largest rate under a bound of latency, the rate from which speculation hurts."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

import numpy as np

from specsim.base import check
from specsim.base.unknown import unknown
from specsim.speed.load.closed import request_times, stable_rate
from specsim.speed.load.service import Service

MEASURES = ("first", "token", "total")
# Rates that are tried; between two that differ the change is bisected.
TRIED = 64
# The highest and the lowest rate tried, as shares of the largest stable rate.
NEAR = 1 - 1e-6
UNLOADED = 1e-9
# Relative difference by which a latency must exceed another, so that rounding does not decide.
SLACK = 1e-9


class Queue(Protocol):
    """A server at which requests arrive: its largest stable rate, and the mean time of a request below that."""

    @property
    def stable(self) -> float:
        """The rate beyond which the queue grows without end."""

    def total_s(self, rate: float) -> float:
        """Return the mean time from arrival to the last token."""


class ServiceQueue(NamedTuple):
    """The queue of a service."""

    service: Service

    @property
    def stable(self) -> float:
        """The largest stable rate."""
        return stable_rate(self.service)

    def total_s(self, rate: float) -> float:
        """Return the mean time of a request."""
        return request_times(self.service, rate).total_s


def largest_rate(service: Service, bound: float, *, of: str = "total") -> float | None:
    r"""The largest request rate at which a mean latency stays within a bound.

    .. math:: R^*(x) = \max \{R : L(R') \le x \;\; \forall R' \le R\}

    Parameters
    ----------
    service : Service
        From `service_costs`.
    bound : float
        x, in the unit of the service.
    of : str
        "first" (to the first token), "token" (per further token) or "total" (to the last token), in the mean.

    Returns
    -------
    float or None
        By `request_times`, between two of 64 rates that are tried; just below the largest stable rate if the bound
        holds there, None where it fails without load.

    Raises
    ------
    ValueError
        A bound that is not above 0, or another word for `of`.

    References
    ----------
    Kong et al. 2026, arXiv:2605.15051 (latency by the request rate).

    Examples
    --------
    >>> from specsim import latency, service_costs
    >>> service = service_costs(latency.constant(0), gamma=0, prompt=1, output=10, limit=1)
    >>> round(largest_rate(service, 15.0), 4)  # M/D/1: 10 + 5 rho / (1 - rho) = 15
    0.05
    """
    check.record(service, "service", Service)
    most = float(check.scalar(bound, "bound", "(0, inf)"))
    if of not in MEASURES:
        raise unknown("of", of, MEASURES)
    return _change(stable_rate(service), lambda rate: getattr(request_times(service, rate), f"{of}_s") > most)


def harmful_rate(plain: Service, speculative: Service) -> float | None:
    r"""The request rate from which speculation hurts: its mean latency is above that of plain decoding.

    .. math:: R_h = \inf \{R : L_{\text{spec}}(R) > L_{\text{plain}}(R)\}

    Parameters
    ----------
    plain, speculative : Service
        Both from `service_costs`, for the same requests; the first with gamma = 0.

    Returns
    -------
    float or None
        By `request_times`; 0.0 where it hurts without load, None where it helps at every rate that plain decoding can
        serve. Where speculation cannot serve as much, it hurts at its largest stable rate if not before.

    Raises
    ------
    ValueError
        Services of different units, limits or answers.

    References
    ----------
    Kong et al. 2026, arXiv:2605.15051; SmartSpec, arXiv:2406.14066 (speculation off under load).

    Examples
    --------
    >>> from specsim import roofline, service_costs
    >>> times = roofline("llama-3.1-8b", "llama-3.2-1b", "h100-sxm")
    >>> sizes = {"prompt": 128, "output": 256, "limit": 256}
    >>> plain, fast = service_costs(times, gamma=0, **sizes), service_costs(times, 0.7, gamma=3, **sizes)
    >>> round(harmful_rate(plain, fast), 1)
    39.8
    """
    check.record(plain, "plain", Service)
    check.record(speculative, "speculative", Service)
    for name in ("unit", "limit", "output"):
        ours, theirs = getattr(plain, name), getattr(speculative, name)
        if ours != theirs:
            raise ValueError(f"plain has {name} {ours}, speculative {theirs}; both must serve the same requests")
    return harmful_from(ServiceQueue(plain), ServiceQueue(speculative))


def harmful_from(plain: Queue, speculative: Queue) -> float | None:
    """Return the rate from which speculation hurts: 0.0 if without load, None if at no rate that plain serves."""
    top = plain.stable
    rate_of_change = _change(top, lambda rate: hurts(plain, speculative, rate))
    if rate_of_change is None:
        return 0.0
    return None if rate_of_change >= NEAR * top else rate_of_change


def hurts(plain: Queue, speculative: Queue, rate: float) -> bool:
    """Return whether speculation is slower at a rate that plain decoding can serve, or cannot serve that rate."""
    if rate >= speculative.stable:
        return True
    return speculative.total_s(rate) > plain.total_s(rate) * (1 + SLACK)


def none_helps_from(plain: Queue, sides: Sequence[Queue]) -> float | None:
    """The rate from which every one of these hurts: the largest `harmful_from`, None if one has none.

    A way that hurts already at the largest rate so far cannot raise it, and costs one comparison.
    """
    top, most = plain.stable, 0.0
    for side in sorted(sides, key=lambda side: side.stable, reverse=True):
        if hurts(plain, side, max(most, UNLOADED * top)):
            continue
        harmful = harmful_from(plain, side)
        if harmful is None:
            return None
        most = max(most, harmful)
    return most


def largest_within(queue: Queue, bound: float) -> float | None:
    """Return the largest rate at which the mean time stays within a bound; None if it fails without load."""
    return _change(queue.stable, lambda rate: queue.total_s(rate) > bound)


def largest_within_of_any(sides: Sequence[Queue], bound: float) -> float | None:
    """The largest `largest_within` of several ways to decode; None if each fails without load.

    A way that fails at the largest rate so far cannot raise it, and costs one request time.
    """
    most: float | None = None
    for side in sorted(sides, key=lambda side: side.stable, reverse=True):
        if most is not None and (most >= side.stable or side.total_s(most) > bound):
            continue
        largest = largest_within(side, bound)
        most = largest if most is None else max(most, largest or 0.0)
    return most


def _change(top: float, fails: Callable[[float], bool]) -> float | None:
    """The first rate below top at which something fails; near top if none does, None if it fails without load."""
    # Bracket the change between two rates.
    rates = top * np.linspace(0, NEAR, TRIED + 1)
    rates[0] = top * UNLOADED
    first = next((i for i, rate in enumerate(rates) if fails(float(rate))), None)
    if first is None:
        return float(rates[-1])
    if first == 0:
        return None
    # Bisect.
    low, high = float(rates[first - 1]), float(rates[first])
    while high - low > 1e-9 * top:
        middle = (low + high) / 2
        low, high = (low, middle) if fails(middle) else (middle, high)
    return low
