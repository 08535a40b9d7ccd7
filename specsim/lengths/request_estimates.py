"""Acceptance estimated from requests: intervals hold for requests drawn at random, not for independent blocks.

Requests differ, so blocks of one request are alike. The variance of tau on public traces of 1,400 requests is 2 to 45
times that of independent blocks; the jackknife over requests counts all of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from specsim.base import check
from specsim.base.intervals import Measure, RatioEstimate, clustered_wilson, jackknife_ratio, student_quantile
from specsim.base.results import result
from specsim.lengths.hazards import HazardEstimate, estimate_hazards
from specsim.lengths.request_alpha import alpha_function, blocks_by_length
from specsim.lengths.request_record import AcceptanceRecord, PositionCounts, check_record, position_counts, stepped
from specsim.types import Array


@result("tau", "alpha")
class RequestEstimates(NamedTuple):
    """The acceptance that a record of requests shows, each number with its interval.

    requests: those with a step. tau: tokens per step of the target, all requests together. drafted_tau: over steps that
    had drafts. mean_tau: the mean of the requests' own tau, which short requests weigh in as much as long ones.
    draft_rate: accepted over drafted. alpha: the acceptance of one draft, the same everywhere, that gives drafted_tau;
    None where draft lengths are not known. hazards: by position, None without positions. widening: the error of
    drafted_tau over that of independent blocks, None without positions. speedup: None unless a cycle's cost was given.

    Examples
    --------
    >>> from specsim.lengths.request_record import request_of_blocks
    >>> found = request_estimates(AcceptanceRecord((request_of_blocks([0, 2, 1, 1], 2), request_of_blocks([2, 2], 2))))
    >>> round(found.tau.value, 3), round(found.mean_tau.value, 3)
    (2.333, 2.5)
    """

    requests: int
    tau: Measure
    drafted_tau: Measure
    mean_tau: Measure
    draft_rate: Measure | None
    alpha: Measure | None
    hazards: HazardEstimate | None
    widening: float | None
    speedup: Measure | None


def request_estimates(record: AcceptanceRecord, *, cycle: float | None = None, level: float = 0.95) -> RequestEstimates:
    r"""Estimate acceptance from requests, with intervals that are robust to requests that differ.

    .. math:: \hat\tau = \frac{\sum_r \text{tokens}_r}{\sum_r \text{steps}_r}, \qquad
        \mathrm{se}^2 = \frac{R - 1}{R} \sum_r (\hat\tau_{-r} - \bar\tau_-)^2

    Parameters
    ----------
    record : AcceptanceRecord
        Two requests or more, drawn independently from those that matter.
    cycle : float, optional
        Cost of a draft-verify cycle in plain decoding steps; gives a speedup of tau / cycle.
    level : float
        Level of the intervals, in (0, 1).

    Returns
    -------
    RequestEstimates
        Intervals of tau are Student's with the jackknife's error and degrees of freedom that fall with its kurtosis;
        those of hazards are Wilson's for as many blocks as would be worth as much if independent.

    Raises
    ------
    ValueError
        No step at all, or counts that contradict each other.

    References
    ----------
    Efron and Stein 1981, Annals of Statistics 9:586 (the jackknife); Wilson 1927, JASA 22:209.

    Examples
    --------
    >>> from specsim.lengths.request_record import request_of_blocks
    >>> requests = tuple(request_of_blocks([2] * n + [0] * (10 - n), 2) for n in (2, 5, 8))
    >>> estimates = request_estimates(AcceptanceRecord(requests))
    >>> round(estimates.tau.value, 2), round(estimates.widening, 2)
    (2.0, 1.9)
    """
    check_record(record)
    share = float(check.scalar(level, "level", "(0, 1)"))
    record = stepped(record)
    if not record.requests:
        raise ValueError("record has no decoding step; expected blocks of drafts")
    # Ratios of sums over requests.
    tau = tau_of_requests(record)
    drafted_tau = drafted_tau_of_requests(record)
    rate = _draft_rate(record)
    alphas = alpha_function(record)
    top = record.length + 1 if record.length else math.inf
    of_drafts = measure_of(drafted_tau, share, 1.0, top)
    return RequestEstimates(
        len(record.requests),
        measure_of(tau, share, 1.0, top),
        of_drafts,
        measure_of(mean_tau_of_requests(record), share, 1.0, top),
        None if rate is None else measure_of(rate, share, 0.0, 1.0),
        None if alphas is None else mapped(of_drafts, alphas),
        hazards_of_requests(record, share) if record.has_positions else None,
        widening_of_requests(record),
        None if cycle is None else _speedup(tau, cycle, share, top),
    )


def tau_of_requests(record: AcceptanceRecord) -> RatioEstimate:
    """Return tokens per step of the target over all requests."""
    emitted = [request.emitted_tokens for request in record.requests]
    return _ratio(emitted, [request.steps for request in record.requests])


def drafted_tau_of_requests(record: AcceptanceRecord) -> RatioEstimate:
    """Return tokens per step that had drafts, over all requests."""
    emitted = [request.emitted_tokens - (request.plain_steps or 0) for request in record.requests]
    return _ratio(emitted, [request.blocks for request in record.requests])


def mean_tau_of_requests(record: AcceptanceRecord) -> RatioEstimate:
    """Return the mean over requests of their own tokens per step."""
    return mean_of_requests([request.tau for request in record.requests])


def mean_of_requests(values: list[float]) -> RatioEstimate:
    """Return the mean of one number for each request."""
    return _ratio(values, [1] * len(values))


def coverage_of_requests(record: AcceptanceRecord) -> RatioEstimate:
    """Return the share of steps that had a draft."""
    return _ratio([request.blocks for request in record.requests], [request.steps for request in record.requests])


def _draft_rate(record: AcceptanceRecord) -> RatioEstimate | None:
    """Return accepted over drafted tokens of all requests; None where drafted tokens are not counted."""
    drafted = [request.drafted for request in record.requests]
    if not all(n is not None for n in drafted) or not sum(n or 0 for n in drafted):
        return None
    return _ratio([request.accepted for request in record.requests], [n or 0 for n in drafted])


def hazards_of_requests(record: AcceptanceRecord, level: float = 0.95) -> HazardEstimate:
    """Return hazards by position with intervals over requests; `tau_error` is that of the whole length.

    Of a single request the intervals take its blocks as independent.
    """
    if len(record.requests) < 2:
        return _independent_hazards(record, level)
    return hazards_of_counts(position_counts(record), level)


def hazards_of_counts(counts: PositionCounts, level: float = 0.95) -> HazardEstimate:
    """Return hazards of blocks that tested and accepted each draft, by request."""
    tried, accepted = (rows.astype(float) for rows in counts)
    seen = int(np.cumprod(tried.sum(axis=0) > 0).sum())
    tried, accepted = tried[:, :seen], accepted[:, :seen]
    intervals = []
    for position in range(seen):
        # Requests that never came so far say nothing of this position.
        has_tried = tried[:, position] > 0
        k, n = accepted[has_tried, position], tried[has_tried, position]
        intervals.append(clustered_wilson(k, n, student_quantile(level, jackknife_ratio(k, n).freedom)))
    total_tried, total_accepted = tried.sum(axis=0), accepted.sum(axis=0)
    return HazardEstimate(
        total_accepted / total_tried,
        np.array(intervals).reshape(-1, 2),
        total_tried.astype(np.int64),
        total_accepted.astype(np.int64),
        _tau_error(accepted, tried),
    )


def counts_of_steps(record: AcceptanceRecord) -> tuple[Array, str]:
    """Return tried and accepted (2, requests, length) per step of the target, and what they rest on.

    A step without a draft counts as one whose first draft was rejected. ValueError where a record does not say how many
    of them there were, or where draft lengths are not known, or for fewer than two requests.
    """
    record = stepped(check_record(record, "acceptance"))
    if len(record.requests) < 2:
        raise ValueError(f"acceptance has {len(record.requests)} requests with steps; expected two or more")
    if not record.has_positions or not blocks_by_length(record):
        raise ValueError("acceptance has requests whose blocks are not known by draft length; expected histograms")
    plain = [request.plain_steps for request in record.requests]
    if None in plain:
        i = plain.index(None)
        raise ValueError(
            f"acceptance, request {i}: plain_steps is None; give the steps without a draft (0 for EAGLE, MTP or a "
            "draft model)"
        )
    tried, accepted = position_counts(record)
    tried[:, 0] += np.array([n or 0 for n in plain])
    words = f"hazards as counted per step of the target, errors over {len(record.requests)} requests"
    return np.stack([tried, accepted]), words


def _independent_hazards(record: AcceptanceRecord, level: float) -> HazardEstimate:
    """Return hazards with intervals of independent blocks."""
    rows = [row for request in record.requests for row in request.histogram]
    accepted = [n for row in rows for n in range(row.drafted + 1)]
    drafted = [row.drafted for row in rows for _ in row.counts]
    return estimate_hazards(accepted, drafted, counts=[count for row in rows for count in row.counts], level=level)


def _tau_error(accepted: Array, tried: Array) -> float | None:
    """Return the jackknife's error, over requests, of tau = 1 + sum_i prod_{j<=i} h_j; None for a single request.

    accepted, tried: drafts by request and position, (requests, positions).
    """
    n = len(tried)
    if n < 2 or not tried.size:
        return None
    # Hazards h and tau without each request.
    rest = tried.sum(axis=0) - tried
    without = (accepted.sum(axis=0) - accepted) / np.where(rest > 0, rest, 1)
    taus = without.cumprod(axis=1).sum(axis=1)
    return math.sqrt((n - 1) / n * float(((taus - taus.mean()) ** 2).sum()))


def widening_of_requests(record: AcceptanceRecord) -> float | None:
    """Return the error of drafted_tau over that of independent blocks; None without positions or spread."""
    if not record.has_positions or len(record.requests) < 2:
        return None
    # Blocks by accepted drafts, over all requests.
    counts: dict[int, int] = {}
    for request in record.requests:
        for row in request.histogram:
            for n, count in enumerate(row.counts):
                counts[n] = counts.get(n, 0) + count
    # Their error if blocks were independent, beside that over requests.
    blocks = sum(counts.values())
    mean = sum(n * count for n, count in counts.items()) / blocks
    variance = sum((n - mean) ** 2 * count for n, count in counts.items()) / blocks
    error = drafted_tau_of_requests(record).error
    return error / math.sqrt(variance / blocks) if variance and math.isfinite(error) else None


def mapped(measure: Measure, function: Callable[[float], float]) -> Measure:
    """Return a measure of which every end went through an increasing function."""
    low, high = (None if end is None else function(end) for end in measure[1:])
    return Measure(function(measure.value), low, high)


def _speedup(tau: RatioEstimate, cycle: float, level: float, top: float) -> Measure:
    """Return tau over the cost of a cycle in plain steps."""
    cost = float(check.scalar(cycle, "cycle", "(0, inf)"))
    return mapped(measure_of(tau, level, 1.0, top), lambda end: end / cost)


def _ratio(top: list[Any], bottom: list[Any]) -> RatioEstimate:
    """Return a ratio of sums over requests."""
    return jackknife_ratio(np.array(top, dtype=float), np.array(bottom, dtype=float))


def measure_of(estimate: RatioEstimate, level: float, least: float, most: float) -> Measure:
    """Return an estimate with its interval inside what is possible; without one for a single request."""
    if not math.isfinite(estimate.error):
        return Measure(estimate.value, None, None)
    low, high = estimate.interval(level)
    return Measure(estimate.value, max(low, least), min(high, most))
