"""A run made of its requests: totals, positions and the share of steps that had a draft."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from specsim.lengths.request_record import AcceptanceRecord, RequestAcceptance, check_record, position_counts
from specsim.logs.record import MISCOUNTED, EngineLog, check_counts


def run_of_requests(requests: Sequence[RequestAcceptance], engine: str, source: str, **more: Any) -> EngineLog:
    """Return the run that these requests are of; further fields of `EngineLog` come by name.

    Plain steps, those without a draft, are None for a request whose tokens are not known. They may be a little below 0
    where the last block of an answer was cut: then there were none.
    """
    # Totals.
    blocks = sum(request.blocks for request in requests)
    accepted = sum(request.accepted for request in requests)
    drafts = [request.drafted for request in requests]
    drafted = None if None in drafts else sum(n or 0 for n in drafts)
    # Plain steps count only if all requests have them.
    coverage = _coverage(requests)
    plain_steps: list[int | None] = [None] * len(requests)
    if coverage is not None:
        plain_steps = [max(request.plain_steps or 0, 0) for request in requests]
    counted = [request._replace(plain_steps=plain) for request, plain in zip(requests, plain_steps, strict=True)]
    record = check_record(AcceptanceRecord(tuple(counted)), source)
    # Blocks that accepted draft 1, 2, ...; and the drafts of a block.
    by_position: tuple[int, ...] = ()
    if record.has_positions:
        by_position = tuple(position_counts(record).accepted.sum(axis=0).tolist())
    length = drafted / blocks if drafted is not None and blocks else float(record.length) or None
    return check_counts(
        EngineLog(
            engine,
            source,
            True,
            length=length,
            blocks=blocks,
            drafted=drafted,
            accepted=accepted,
            kept=by_position,
            coverage=coverage,
            requests=record,
        )._replace(**more)
    )


def _coverage(requests: Sequence[RequestAcceptance]) -> float | None:
    """Return the share of steps that had a draft; None where the requests do not say it, or contradict it."""
    plain = [request.plain_steps for request in requests]
    if None in plain:
        return None
    blocks = sum(request.blocks for request in requests)
    steps = blocks + sum(n or 0 for n in plain)
    # With far fewer steps than blocks the tokens are not those of these blocks.
    if steps < MISCOUNTED * blocks:
        return None
    return min(blocks / steps, 1.0) if steps else None
