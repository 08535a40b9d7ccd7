"""TensorRT-LLM: the statistics of iterations (`enable_iter_perf_stats`, /metrics), as a JSON list or one object a line.

Seen in 1.0 to 1.3 (cpp/include/tensorrt_llm/executor/types.h, `SpecDecodingStats`): drafted and accepted tokens, the
requests that had drafts, and the time of drafting alone, 0 where the drafter runs inside the target's own pass.
"""

from __future__ import annotations

import json
from typing import Any

from specsim.latency import Timing
from specsim.logs.record import EngineLog, check_counts, number, timing, whole

NAME = "TensorRT-LLM"
EXPECTS = "JSON with iterLatencyMS and specDecodingStats"


def knows(text: str) -> bool:
    return '"iterLatencyMS"' in text and text.lstrip()[:1] in "[{"


def parse(text: str, source: str) -> tuple[EngineLog, ...]:
    rows = [row for row in _rows(text, source) if not row.get("attentionDpRank")]  # other ranks repeat the first
    spans: list[float] = []
    drafting: list[float] = []
    sizes: list[float] = []
    counts = {"numRequestsWithDraftTokens": 0.0, "numDraftTokens": 0.0, "numAcceptedTokens": 0.0}
    for i, row in enumerate(rows):
        place = f"{source}, iteration {i}"
        batching = row.get("inflightBatchingStats") or {}
        running = number(str(batching.get("numGenRequests", row.get("numActiveRequests", 0))), f"{place}: requests")
        if batching.get("numContextRequests") or not running:  # prompts are read in it
            continue
        spec = row.get("specDecodingStats") or {}
        if spec.get("numDraftTokens"):
            missing = [name for name in counts if name not in spec]
            if missing:
                raise ValueError(
                    f"{place}: specDecodingStats has no {', '.join(missing)}; expected all of {', '.join(counts)}"
                )
            for name in counts:
                counts[name] += number(str(spec[name]), f"{place}: {name}")
            drafting.append(number(str(spec.get("iterLatencyMS", 0)), f"{place}: iterLatencyMS of drafting") / 1e3)
        spans.append(number(str(row.get("iterLatencyMS")), f"{place}: iterLatencyMS") / 1e3)
        sizes.append(running)
    if not spans:
        raise ValueError(f"{source} has no iteration that only decodes; expected one or more without a prompt")
    blocks, drafted, accepted = (whole(value, f"{source}: {name}") for name, value in counts.items())
    batch = sum(sizes) / len(sizes)
    if not drafted:
        return (EngineLog(NAME, source, False, batch=batch, token=timing(spans)),)
    if not blocks:
        raise ValueError(
            f"{source}: {drafted} tokens drafted by no request; expected numRequestsWithDraftTokens above 0"
        )
    found = EngineLog(
        NAME,
        source,
        True,
        batch=batch,
        length=drafted / blocks,
        blocks=blocks,
        drafted=drafted,
        accepted=accepted,
        cycle=timing(spans),
        draft=timing(drafting) if sum(drafting) else None,
        token=None,
    )
    tau = 1 + accepted / blocks
    cycle = found.cycle or Timing(0.0)
    return (check_counts(found._replace(token=Timing(cycle.value / tau, None))),)


def _rows(text: str, source: str) -> list[dict[str, Any]]:
    try:
        held = json.loads(text)
    except ValueError:
        try:
            held = [json.loads(line) for line in text.splitlines() if line.strip()]
        except ValueError as error:
            raise ValueError(f"{source} is no JSON: {error}") from None
    rows = held if isinstance(held, list) else [held]
    rows = [json.loads(row) if isinstance(row, str) else row for row in rows]
    if not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"{source} holds something else than iterations; expected objects with iterLatencyMS")
    return rows
