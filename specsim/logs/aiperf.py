"""aiperf's `profile_export.jsonl`: one line a request, with `spec_decode_acceptance` where the engine reported it.

Documented in ai-dynamo/aiperf, docs/tutorials/spec-decode-metrics.md and working-with-profile-exports.md (0.12 and
later, #1191): `--export-level records`. The histogram maps accepted drafts to steps, or is null; `metadata` names the
prompt (`conversation_id`, `turn_index`), `metrics` the tokens and times. Steps without a draft follow from the tokens.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

from specsim.base.reading import json_values
from specsim.lengths.request_record import RequestAcceptance
from specsim.logs.acceptance_metrics import read_metrics, whole_number
from specsim.logs.printed import check_emitted
from specsim.logs.record import EngineLog, fields, number
from specsim.logs.request_runs import run_of_requests

NAME = "aiperf"
EXPECTS = "lines of profile_export.jsonl with spec_decode_acceptance"
ACCEPTANCE = "spec_decode_acceptance"
# Seconds of the units that aiperf writes.
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0, "sec": 1.0}


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return f'"{ACCEPTANCE}"' in text and text.lstrip()[:1] in "[{"


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file, request by request."""
    requests, engines, failed, silent = list[RequestAcceptance](), list[str](), 0, 0
    streamed = list[tuple[int, int]]()
    for i, value in enumerate(json_values(text, source), 1):
        place = f"{source}, record {i}"
        held = fields(value, place)
        # A failed request has an error and no metrics; a warm-up is no part of the benchmark.
        if held.get("error"):
            failed += 1
            continue
        metadata = fields(held.get("metadata") or {}, f"{place}: metadata")
        if metadata.get("benchmark_phase", "profiling") != "profiling":
            continue
        if held.get(ACCEPTANCE) is None:
            silent += 1
            continue
        acceptance = fields(held[ACCEPTANCE], f"{place}: {ACCEPTANCE}")
        if "acceptance_histogram" not in acceptance:
            raise ValueError(
                f"{place}: {ACCEPTANCE} has no acceptance_histogram; expected the steps by accepted drafts"
            )
        request = read_metrics(_with_a_step(acceptance), place)
        requests.append(_with_metadata(request, acceptance, metadata, held, place))
        engines.append(str(acceptance.get("engine", "aiperf")))
        if (gaps := _gaps(held, place)) is not None:
            streamed.append((gaps, requests[-1].steps))
    if not sum(request.blocks for request in requests):
        raise ValueError(f"{source} has no request with drafts; expected {ACCEPTANCE} with steps")
    if len(set(engines)) > 1:
        raise ValueError(f"{source} holds requests of {' and '.join(sorted(set(engines)))}; expected one engine")
    notes = [f"{failed} failed requests are left out"] if failed else []
    notes += [f"{silent} requests without {ACCEPTANCE} are left out"] if silent else []
    notes += _chunk_notes(streamed)
    return (run_of_requests(_named_once(requests), _engine(engines[0]), source, notes=tuple(notes)),)


# Relative difference of steps and chunks of a stream beyond which chunks are no steps.
CHUNKS = 0.05


def _chunk_notes(streamed: list[tuple[int, int]]) -> list[str]:
    """Return what convicts the times: ITL over the acceptance length is TPOT only if each step is one chunk."""
    gaps, steps = sum(gap for gap, _ in streamed), sum(step for _, step in streamed)
    if not gaps or not steps or abs(gaps - steps) <= CHUNKS * steps:
        return []
    return [
        f"{steps} steps were counted and {gaps} gaps between chunks timed: chunks are no steps, so the time between "
        "chunks is not that of a cycle, and over the acceptance length it is not the time per token"
    ]


def _gaps(held: dict[str, Any], place: str) -> int | None:
    """Return how many gaps between chunks a request was timed by; None without them."""
    chunks = fields(held.get("metrics") or {}, f"{place}: metrics").get("inter_chunk_latency")
    values = chunks.get("value") if isinstance(chunks, dict) else None
    return len(values) if isinstance(values, list) else None


def _engine(name: str) -> str:
    """Return an engine as the other readers call it."""
    return {"vllm": "vLLM", "trtllm": "TensorRT-LLM", "tensorrt_llm": "TensorRT-LLM", "sglang": "SGLang"}.get(
        name, name
    )


def _with_a_step(acceptance: dict[str, Any]) -> dict[str, Any]:
    """Return counts whose histogram is empty, of a request that drafted nothing, as a histogram of no block."""
    return acceptance if acceptance["acceptance_histogram"] else {**acceptance, "acceptance_histogram": [0]}


def _with_metadata(
    request: RequestAcceptance,
    acceptance: dict[str, Any],
    metadata: dict[str, Any],
    held: dict[str, Any],
    place: str,
) -> RequestAcceptance:
    """Return a request with its prompt, its tokens and the time of its decoding."""
    metrics = fields(held.get("metrics") or {}, f"{place}: metrics")
    prompt = metadata.get("conversation_id")
    name = "" if prompt is None else f"{prompt}, turn {metadata.get('turn_index', 0)}"
    printed = acceptance.get("completion_tokens")
    tokens = _metric(metrics, "output_sequence_length", place) if printed is None else whole_number(printed, place)
    context = _metric(metrics, "input_sequence_length", place)
    if tokens is not None:
        longest = max((row.drafted for row in request.histogram), default=0)
        check_emitted(tokens - 1, request.blocks, request.accepted, longest, place)
    # The first token comes from the prompt's pass.
    whole_time, first = (_seconds(metrics, key, place) for key in ("request_latency", "time_to_first_token"))
    return request._replace(
        prompt=name,
        tokens=None if tokens is None else round(tokens),
        context=None if context is None else round(context),
        plain_steps=None if tokens is None else round(tokens) - 1 - request.accepted - request.blocks,
        seconds=None if whole_time is None or first is None else whole_time - first,
    )


def _metric(metrics: dict[str, Any], name: str, place: str) -> float | None:
    """Return the value of a metric; None without it."""
    if metrics.get(name) is None:
        return None
    held = fields(metrics[name], f"{place}: {name}")
    return number(str(held.get("value")), f"{place}: {name}")


def _seconds(metrics: dict[str, Any], name: str, place: str) -> float | None:
    """Return a time in seconds; None without it; ValueError for a unit that is not known."""
    value = _metric(metrics, name, place)
    if value is None:
        return None
    unit = metrics[name].get("unit")
    if unit not in UNITS:
        raise ValueError(f"{place}: {name} is in {unit!r}; expected one of {', '.join(UNITS)}")
    return value * UNITS[unit]


def _named_once(requests: list[RequestAcceptance]) -> list[RequestAcceptance]:
    """Return the requests; a prompt that was sent several times is told apart by the number of its request."""
    names = Counter(request.prompt for request in requests)
    seen: Counter[str] = Counter()
    numbered = []
    for request in requests:
        seen[request.prompt] += 1
        again = request.prompt and names[request.prompt] > 1
        numbered.append(
            request._replace(prompt=f"{request.prompt}, request {seen[request.prompt]}") if again else request
        )
    return numbered
