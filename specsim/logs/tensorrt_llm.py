"""TensorRT-LLM: the statistics of iterations (`enable_iter_perf_stats`, /metrics), as a JSON list or one object a line.

Seen in 1.0 to 1.3 (cpp/include/tensorrt_llm/executor/types.h, `SpecDecodingStats`): drafted and accepted tokens, the
requests that had drafts, and the time of drafting alone, 0 where the drafter runs inside the target's own pass.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from specsim.base.reading import json_values, parsed_json
from specsim.latency import Timing
from specsim.logs.printed import check_printed
from specsim.logs.record import MISCOUNTED, EngineLog, check_counts, clusters, fields, number, timing, whole

NAME = "TensorRT-LLM"
EXPECTS = "JSON with iterLatencyMS and specDecodingStats"

# Fields of an iteration that only a run with speculation has.
_OTHER_WORDS = re.compile("spec|draft|accept", re.IGNORECASE)
COUNTS = ("numRequestsWithDraftTokens", "numDraftTokens", "numAcceptedTokens")
# Tokens of an iteration and request, in the mean of its iterations so far: more than 1 with speculation alone.
DECODED = "avgNumDecodedTokensPerIter"


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return '"iterLatencyMS"' in text and text.lstrip()[:1] in "[{"


class Iteration(NamedTuple):
    """One iteration that only decodes; times in seconds."""

    seconds: float
    running: float
    drafting: float | None
    counts: tuple[float, float, float]


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the runs of a file: one, or one for each number of running requests."""
    # Other ranks repeat the first.
    rows = [row for row in _rows(text, source) if not row.get("attentionDpRank")]
    # A scrape that was saved twice holds an iteration twice.
    rows = list({json.dumps(row) if "iter" in row else i: row for i, row in enumerate(rows)}.values())
    iterations = [
        iteration
        for i, row in enumerate(rows)
        if (iteration := _iteration(row, f"{source}, iteration {i}")) is not None
    ]
    if not iterations:
        raise ValueError(f"{source} has no iteration that only decodes; expected one or more without a prompt")
    # Drafts that are in no iteration that only decodes.
    drafted = [row for row in rows if fields(row.get("specDecodingStats") or {}, source).get("numDraftTokens")]
    if drafted and not any(iteration.counts[1] for iteration in iterations):
        raise ValueError(
            f"{source} has numDraftTokens in iterations that read prompts, and in no other; expected iterations that "
            "only decode, with drafts"
        )
    # Batches of their own, if there are several.
    groups = clusters([iteration.running for iteration in iterations]) if by_batch else []
    if len(groups) < 2:
        return (_summary(iterations, source),)
    runs = [_summary([iterations[i] for i in group], source) for group in groups]
    # Speculation is on at every batch, also where nothing was drafted.
    if any(run.speculating for run in runs):
        runs = [run if run.speculating else run._replace(speculating=True, length=0.0) for run in runs]
    return tuple(run._replace(batch=float(round(run.batch or 0.0))) for run in runs)


def _iteration(row: dict[str, Any], place: str) -> Iteration | None:
    """Return the times and counts of an iteration; None if it reads a prompt, or nothing runs."""
    batching = fields(row.get("inflightBatchingStats") or {}, f"{place}: inflightBatchingStats")
    running = _number(batching.get("numGenRequests", row.get("numActiveRequests", 0)), f"{place}: requests")
    if batching.get("numContextRequests") or not running:
        return None
    # Counts and time of drafting; no other field may speak of speculation.
    spec = fields(row.get("specDecodingStats") or {}, f"{place}: specDecodingStats")
    counts, drafting = (0.0, 0.0, 0.0), None
    if words := [name for name in row if name != "specDecodingStats" and _OTHER_WORDS.search(name) and row[name]]:
        raise ValueError(
            f"{place} speculates (it has {words[0][:40]!r}), but its counts are not in specDecodingStats; expected "
            f"{', '.join(COUNTS)} there"
        )
    # A count that is there, or any value without the count of drafts: zeros alone mean that nothing was drafted.
    if any(spec.get(name) for name in COUNTS) or ("numDraftTokens" not in spec and any(spec.values())):
        missing = [name for name in COUNTS if name not in spec]
        if missing:
            raise ValueError(
                f"{place}: specDecodingStats has no {', '.join(missing)}; expected all of {', '.join(COUNTS)}"
            )
        blocks, drafted, accepted = (_number(spec[name], f"{place}: {name}") for name in COUNTS)
        counts = (blocks, drafted, accepted)
        _check_length(spec, blocks, accepted, place)
        drafting = _number(spec.get("iterLatencyMS", 0), f"{place}: iterLatencyMS of drafting") / 1e3
    decoded = _number(batching.get(DECODED) or 0, f"{place}: {DECODED}")
    if decoded > 1 and not counts[1] and not spec:
        raise ValueError(
            f"{place} speculates ({DECODED} is {decoded:g}), but has no specDecodingStats; expected {', '.join(COUNTS)}"
        )
    seconds = _number(row.get("iterLatencyMS"), f"{place}: iterLatencyMS") / 1e3
    return Iteration(seconds, running, drafting, counts)


def _check_length(spec: dict[str, Any], blocks: float, accepted: float, place: str) -> None:
    """ValueError if the printed length or rate is not that of the counts: a version that counts something else."""
    rate, drafted = spec.get("acceptanceRate"), _number(spec["numDraftTokens"], f"{place}: numDraftTokens")
    if rate and drafted:
        check_printed("acceptanceRate", str(rate), [accepted / drafted], place)
    printed = _number(spec.get("acceptanceLength") or 0, f"{place}: acceptanceLength")
    if blocks and printed and abs(printed - 1 - accepted / blocks) > 0.01 * printed:
        raise ValueError(
            f"{place}: acceptanceLength is {printed:g}, and its counts give {1 + accepted / blocks:.4g}; "
            "they differ, so what is counted is not known"
        )


def _summary(iterations: Sequence[Iteration], source: str) -> EngineLog:
    """Sum the counts of iterations into a run, and take the mean of their times."""
    totals = [math.fsum(iteration.counts[column] for iteration in iterations) for column in range(3)]
    blocks, drafted, accepted = (whole(total, f"{source}: {name}") for total, name in zip(totals, COUNTS, strict=True))

    # A run without drafts is plain decoding.
    steps = math.fsum(iteration.running for iteration in iterations)
    spans, batch = [iteration.seconds for iteration in iterations], steps / len(iterations)
    if not drafted:
        return check_counts(EngineLog(NAME, source, False, batch=batch, token=timing(spans)))
    if not blocks:
        raise ValueError(
            f"{source}: {drafted} tokens drafted by no request; expected numRequestsWithDraftTokens above 0"
        )

    if MISCOUNTED * blocks > steps:
        raise ValueError(
            f"{source}: {blocks} requests with draft tokens in iterations of {steps:g} requests; expected no more"
        )
    # tau of all steps, also of requests without a draft.
    drafting = [iteration.drafting or 0.0 for iteration in iterations]
    cycle = timing(spans) or Timing(0.0)
    tau = 1 + accepted / max(steps, blocks)
    return check_counts(
        EngineLog(
            NAME,
            source,
            True,
            batch=batch,
            length=drafted / blocks,
            blocks=blocks,
            drafted=drafted,
            accepted=accepted,
            cycle=cycle,
            draft=timing(drafting) if sum(drafting) else None,
            token=Timing(cycle.value / tau, None),
            coverage=min(blocks / steps, 1.0),
        )
    )


def _number(value: Any, place: str) -> float:
    """Return a number of JSON; ValueError with its place for anything else."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return number(str(value) if is_number else repr(value), place)


def _rows(text: str, source: str) -> list[dict[str, Any]]:
    """Return the iterations, which may be strings of JSON themselves."""
    rows = json_values(text, source)
    rows = [parsed_json(row, source) if isinstance(row, str) else row for row in rows]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{source} holds something else than iterations; expected objects with iterLatencyMS")
    return rows
