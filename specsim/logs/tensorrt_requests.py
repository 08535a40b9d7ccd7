"""TensorRT-LLM's `perf_metrics`: one record a request, from `/perf_metrics` or `perf_metrics_output_dir` (JSON lines).

Documented in tensorrt_llm/serve/openai_server.py (1.0 to 1.4; `return_perf_metrics: true`): `perf_metrics` with
`first_iter`, `last_iter`, `timing_metrics` and, where drafts were made, `speculative_decoding` with
`total_accepted_draft_tokens`, `total_draft_tokens`. Counts of the PyTorch flow were 0 before NVIDIA/TensorRT-LLM#17082.
A request takes part in every iteration from its first token to its last, so those are its steps.
"""

from __future__ import annotations

from typing import Any

from specsim.base.reading import json_values
from specsim.lengths.request_record import RequestAcceptance
from specsim.logs.acceptance_metrics import named, whole_number
from specsim.logs.printed import check_means
from specsim.logs.record import EngineLog, fields, number
from specsim.logs.request_runs import run_of_requests

NAME = "TensorRT-LLM perf_metrics"
EXPECTS = "JSON with perf_metrics and first_iter"
COUNTS = ("total_accepted_draft_tokens", "total_draft_tokens")


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return '"perf_metrics"' in text and '"first_iter"' in text and text.lstrip()[:1] in "[{"


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file, request by request."""
    requests = []
    for i, value in enumerate(json_values(text, source), 1):
        place = f"{source}, request {i}"
        held = fields(value, place)
        # Of a server in two parts the one that generates has the counts.
        record = fields(held.get("gen_perf_metrics") or held, place)
        metrics = fields(record.get("perf_metrics"), f"{place}: perf_metrics")
        requests.append(_request(metrics, place))
    if not requests or not sum(request.blocks for request in requests):
        raise ValueError(f"{source} has no decoding step; expected requests of two tokens or more")
    if not any(request.drafted for request in requests):
        raise ValueError(
            f"{source} has no draft tokens: a run without speculation, or counts of before NVIDIA/TensorRT-LLM#17082; "
            "expected total_draft_tokens"
        )
    return (run_of_requests(requests, "TensorRT-LLM", source),)


def _request(metrics: dict[str, Any], place: str) -> RequestAcceptance:
    """Return the counts of a request; ValueError where they contradict each other."""
    steps = _iteration(metrics, "last_iter", place) - _iteration(metrics, "first_iter", place)
    if steps < 0:
        raise ValueError(f"{place}: last_iter is before first_iter; expected it behind")
    spec = fields(metrics.get("speculative_decoding") or {}, f"{place}: speculative_decoding")
    missing = [name for name in COUNTS if spec and name not in spec]
    if missing:
        raise ValueError(f"{place}: speculative_decoding has no {missing[0]}; expected {' and '.join(COUNTS)}")
    accepted, drafted = (named(spec, (name,), place) or 0 for name in COUNTS)
    if accepted > drafted:
        raise ValueError(f"{place}: {accepted} drafts accepted of {drafted} drafted; expected no more")
    check_means(spec, 0, drafted, accepted, place)
    if drafted and not steps:
        raise ValueError(f"{place}: {drafted} drafts between first_iter and last_iter, which are one; expected none")
    # Without drafts, all steps are plain; with them, how many had one is not known.
    timing = fields(metrics.get("timing_metrics") or {}, f"{place}: timing_metrics")
    times = [timing.get(name) for name in ("first_token_time", "last_token_time")]
    seconds = None
    if None not in times:
        first, last = (number(str(time), f"{place}: timing_metrics") for time in times)
        seconds = last - first
    return RequestAcceptance(steps, accepted, drafted, plain_steps=0, seconds=seconds)


def _iteration(metrics: dict[str, Any], name: str, place: str) -> int:
    """Return the number of an iteration; ValueError without it."""
    if metrics.get(name) is None:
        raise ValueError(f"{place}: perf_metrics has no {name}; expected first_iter and last_iter")
    return whole_number(metrics[name], f"{place}: {name}")
