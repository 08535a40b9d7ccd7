"""Acceptance of a log that has its counts request by request, beyond the totals."""

from __future__ import annotations

import math

import numpy as np

from specsim.base.intervals import Measure
from specsim.lengths.hazards import HazardEstimate
from specsim.lengths.request_alpha import alpha_function, blocks_by_length
from specsim.lengths.request_estimates import (
    coverage_of_requests,
    drafted_tau_of_requests,
    hazards_of_requests,
    mapped,
    mean_tau_of_requests,
    measure_of,
    widening_of_requests,
)
from specsim.lengths.request_record import AcceptanceRecord, LengthCounts, at_length, stepped
from specsim.logs.record import EngineLog
from specsim.logs.request_runs import run_of_requests

# How much wider intervals over requests are than those of independent blocks, in four public workloads of 300 to 500
# requests of Llama-3.1-8B with EAGLE (SpecDecode-Bench/simulator): math, summaries, edits of code, chat.
REFERENCE_WIDENING = (1.4, 6.7)

# Requests of one length that would be worth as much, over the number of requests, under which a few long ones decide
# tau. On a public trace with 0.05 intervals of 100 requests cover 34 to 96 %, on one with 0.31 83 to 96 %, and
# on two with 0.9 as they say (`tests/bench/table_coverage.py`).
FEW = 1 / 3

INDEPENDENT = (
    "intervals take blocks as independent: with requests that differ as in public workloads they would be "
    f"{REFERENCE_WIDENING[0]} to {REFERENCE_WIDENING[1]} times as wide (the log has no counts by request)"
)


def request_error(record: AcceptanceRecord | None) -> float | None:
    """Return the error of tau over requests, widened so that a normal interval is right; None if it is not known.

    Requests that are all alike show no spread; then the error of independent blocks is the better one.
    """
    if record is None or len(stepped(record).requests) < 2:
        return None
    error = drafted_tau_of_requests(stepped(record)).normal_error
    return error if 0 < error < math.inf else None


def request_hazards(run: EngineLog, level: float) -> HazardEstimate | None:
    """Return hazards over requests; None where a log does not say how many drafts each block had."""
    record = run.requests
    if record is None or not record.has_positions or not blocks_by_length(record):
        return None
    return hazards_of_requests(stepped(record), level)


def add_request_measures(run: EngineLog, measures: dict[str, Measure], level: float) -> dict[str, Measure]:
    """Return measures with those that only counts by request have: mean_tau, and alpha where lengths differ."""
    if run.requests is None or len(stepped(run.requests).requests) < 2:
        return measures
    record = stepped(run.requests)
    added = dict(measures)
    if "alpha" not in measures and (alpha := alpha_function(record)) is not None:
        added["alpha"] = mapped(measures.get("drafted_tau", measures["tau"]), alpha)
    if "coverage" in measures:
        added["coverage"] = measure_of(coverage_of_requests(record), level, 0.0, 1.0)
    added["mean_tau"] = measure_of(mean_tau_of_requests(record), level, 1.0, math.inf)
    return added


def request_notes(run: EngineLog) -> list[str]:
    """Return what the intervals of a run rest on: requests that differ, or blocks taken as independent."""
    if run.blocks is None or run.accepted is None:
        return []
    if run.requests is None:
        return [INDEPENDENT]
    record = stepped(run.requests)
    count = len(record.requests)
    if count < 2:
        return ["the log is of one request: how much requests differ is not known, and blocks count as independent"]
    note = f"intervals are over {count} requests"
    widening = widening_of_requests(record)
    if widening is not None:
        note += f": {widening:.2g} times as wide as those of independent blocks"
    return [note, *_long_requests(record)]


def _long_requests(record: AcceptanceRecord) -> list[str]:
    """Return a note where a few long requests decide tau: a record without such requests does not know of them."""
    steps = np.sort([request.steps for request in record.requests])[::-1].astype(float)
    alike = steps.sum() ** 2 / (steps**2).sum()
    if alike >= FEW * len(steps):
        return []
    few = max(len(steps) // 100, 1)
    words = f"{few} of {len(steps)} requests have" if few > 1 else f"1 of {len(steps)} requests has"
    return [
        f"{words} {steps[:few].sum() / steps.sum():.0%} of the steps: tau rests on few long answers, and its interval "
        "may be too short (mean_tau counts every request once)"
    ]


def counted_requests(run: EngineLog, length: int | None) -> EngineLog:
    """Return a run whose requests are counted by the argument `length`, where the source does not say it.

    A trace by position becomes blocks of this length. Blocks of which only the accepted drafts are known are taken to
    have had as many drafts as `length`, or as the longest accepted.
    """
    record = run.requests
    if record is None or run.length is not None:
        return run
    if any(request.reach for request in record.requests):
        if length is None:
            raise ValueError(f"{run.source} has the tokens from every position on; give --gamma for blocks")
        record = at_length(record, length)
        note = f"blocks of {length} drafts (--gamma), each behind the tokens of the one before"
    elif record.has_positions:
        longest = max(record.length, length or 0)
        record = _padded(record, longest)
        note = f"blocks are taken to have had {longest} drafts" + (
            ", the most that one accepted; --gamma says otherwise" if longest != length else " (--gamma)"
        )
    else:
        return run
    counted = run_of_requests(record.requests, run.engine, run.source)
    return run._replace(
        length=float(record.length),
        blocks=counted.blocks,
        drafted=counted.drafted,
        accepted=counted.accepted,
        kept=counted.kept,
        requests=record,
        notes=(*run.notes, note),
    )


def _padded(record: AcceptanceRecord, length: int) -> AcceptanceRecord:
    """Return the record with all blocks of one length."""
    requests = []
    for request in record.requests:
        totals = [0] * (length + 1)
        for row in request.histogram:
            for n, count in enumerate(row.counts):
                totals[n] += count
        rows = (LengthCounts(length, tuple(totals)),) if request.blocks else ()
        requests.append(request._replace(histogram=rows, drafted=request.blocks * length))
    return AcceptanceRecord(tuple(requests))
