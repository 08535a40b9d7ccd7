"""Per-request metrics in an answer's JSON: `acceptance_histogram`, blocks by the number of drafts they accepted.

vLLM: `metrics.speculative_decoding`, documented in docs/features/speculative_decoding/acceptance_metrics.md (since
0.28, vllm-project/vllm#48915; `acceptance_histogram_by_draft_length` since #56278; with `detailed`, `per_step_accepted`
and `per_step_drafted`). TensorRT-LLM: `speculative_decoding` of a choice (NVIDIA/TensorRT-LLM#19311). One answer, a
list of them, one a line, or streams of events, of whose events the last of each answer is read. Blocks are steps that
had a draft: how many there were besides follows from `usage.completion_tokens`, or from the tokens of an iteration.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from specsim.base.reading import is_stream
from specsim.lengths.request_record import RequestAcceptance
from specsim.logs.acceptance_metrics import POSITIONS, read_metrics
from specsim.logs.printed import MEANS, RATES, check_emitted, check_printed
from specsim.logs.record import EngineLog, number
from specsim.logs.request_runs import run_of_requests
from specsim.logs.streams import Counts, Piece, choice, last_places, note_of, pieces

NAME = "per-request metrics"
EXPECTS = "JSON of an answer with acceptance_histogram"
# Mean tokens of all iterations, with a draft or without.
MEAN = "avg_decoded_tokens_per_iter"
# Levels of an answer at which its metrics may stand.
DEEPEST = 8


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    has_metrics = '"acceptance_histogram"' in text and '"spec_decode_acceptance"' not in text
    return has_metrics and (text.lstrip()[:1] in "[{" or is_stream(text))


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file: the last counts of every answer, added up."""
    events = pieces(text, source)
    # An event of its own may have the tokens of an answer, the last of its stream.
    usages: dict[str, dict[str, Any]] = {}
    for answer, name in events:
        if isinstance(answer, dict) and isinstance(answer.get("usage"), dict):
            usages[name] = answer["usage"]
    counts, requests, engines = list[Counts](), list[RequestAcceptance](), list[str]()

    # Read the metrics of every choice in every event.
    for event, (answer, name) in enumerate(events):
        metrics = list(_metrics(answer, DEEPEST))
        alone = usages.get(name, {}) if len(metrics) == 1 else {}
        for place, metric in enumerate(metrics):
            where = f"{source}: answer {event}"
            engines.append("vLLM" if "num_draft_tokens" in metric else "TensorRT-LLM")
            requests.append(_with_steps(read_metrics(metric, where), metric, alone, where))
            by_accepted = {f"acceptance_histogram[{n}]": float(v) for n, v in enumerate(_by_accepted(requests[-1]))}
            counts.append(Counts(f"{name}, choice {choice(answer) + place}", by_accepted))

    # The last event of each answer.
    answers = [requests[i] for i in last_places(counts, source)]
    if not sum(request.blocks for request in answers):
        raise ValueError(f"{source} has an acceptance_histogram without blocks; expected some")
    notes = (*note_of(len(requests), len(answers)), *_unread(events))
    return (run_of_requests(answers, engines[0], source, notes=notes),)


def _unread(events: Sequence[Piece]) -> tuple[str, ...]:
    """Return the note that names counts of drafts which are not read, none without one."""
    names = {name for event in events for metric in _metrics(event.value, DEEPEST) for name in metric}
    unread = sorted(name for name in names if _DRAFTS.search(name) and not _READ.fullmatch(name))
    return (f"not read: {', '.join(unread)[:200]}",) if unread else ()


# Fields that speak of drafts, and those of them that are read, or checked against what is.
_DRAFTS = re.compile("accept|draft|spec_")
_READ = re.compile(
    r"acceptance_histogram(?:_by_draft_length)?|(?:num|total)_(?:accepted_)?draft_tokens|num_spec_(?:steps|tokens)"
    rf"|per_step_(?:accepted|drafted)|{'|'.join((*MEANS, *RATES))}|{POSITIONS.pattern}"
)


def _metrics(value: Any, deepest: int, mean: Any = None) -> Iterator[dict[str, Any]]:
    """Yield every object in an answer that has a histogram, at most `deepest` levels down.

    The mean tokens of an iteration may stand in an object around it: they are added as its field.
    """
    if isinstance(value, dict):
        mean = value.get(MEAN, mean)
    if isinstance(value, dict) and "acceptance_histogram" in value:
        yield value if mean is None else {**value, MEAN: mean}
    elif deepest and isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _metrics(part, deepest - 1, mean)


def _by_accepted(request: RequestAcceptance) -> list[int]:
    """Return the blocks that accepted 0, 1, ... drafts, whatever each drafted."""
    longest = _longest(request)
    return [sum(row.counts[n] for row in request.histogram if n <= row.drafted) for n in range(longest + 1)]


def _longest(request: RequestAcceptance) -> int:
    """Return the most drafts of a block."""
    return max((row.drafted for row in request.histogram), default=0)


def _with_steps(
    request: RequestAcceptance, metric: dict[str, Any], usage: dict[str, Any], place: str
) -> RequestAcceptance:
    """Return a request with its tokens, its prompt's tokens, and the number of steps that had no draft.

    A step emits its accepted drafts and one token, and the first token of an answer is of the prompt's pass: so steps
    are tokens - 1 - accepted, or else accepted / (mean - 1) by the mean tokens of an iteration. Without both, the steps
    without a draft are None.
    """
    # All steps, with a draft or without.
    steps = None
    if MEAN in metric and request.blocks:
        _check_iterations(request, str(metric[MEAN]), usage, place)
    if "completion_tokens" in usage:
        tokens = number(str(usage["completion_tokens"]), f"{place}: completion_tokens")
        request = request._replace(tokens=round(tokens))
        check_emitted(tokens - 1, request.blocks, request.accepted, _longest(request), place)
        steps = tokens - 1 - request.accepted
    elif MEAN in metric and request.accepted:
        mean = number(str(metric[MEAN]), f"{place}: {MEAN}")
        steps = request.accepted / (mean - 1) if mean > 1 else None
    if "prompt_tokens" in usage:
        request = request._replace(context=round(number(str(usage["prompt_tokens"]), f"{place}: prompt_tokens")))
    return request._replace(plain_steps=None if steps is None else round(steps) - request.blocks)


def _check_iterations(request: RequestAcceptance, text: str, usage: dict[str, Any], place: str) -> None:
    """Raise ValueError if the mean tokens of an iteration are not those of the blocks and the answer's tokens.

    Steps without a draft make the mean smaller than that of blocks, and never larger.
    """
    mean, most = number(text, f"{place}: {MEAN}"), 1 + request.accepted / request.blocks
    if mean < 1 or mean > most:
        check_printed(MEAN, text, [min(max(mean, 1.0), most)], place)
    if "completion_tokens" in usage:
        # Of all iterations behind the prompt's, or with it.
        tokens = number(str(usage["completion_tokens"]), f"{place}: completion_tokens")
        steps = tokens - 1 - request.accepted
        if steps > 0:
            check_printed(MEAN, text, [(tokens - 1) / steps, tokens / (steps + 1), tokens / steps], place)
