"""Per-request metrics in an answer's JSON: `acceptance_histogram`, blocks by the number of drafts they kept.

Seen in vLLM 0.28 (vllm-project/vllm#48915, `metrics.speculative_decoding`) and TensorRT-LLM (NVIDIA/TensorRT-LLM#19311,
`speculative_decoding` of a choice). One answer, a list of them, one a line, or streams of events, of whose events the
last of each answer is read; answers are added up. Blocks are steps that had a draft: how many there were besides
follows from `usage.completion_tokens`, or from the tokens of an iteration.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from specsim.base.reading import is_stream
from specsim.logs.record import EngineLog, check_counts, number, whole
from specsim.logs.streams import Counts, choice, last_places, note_of, pieces
from specsim.logs.vllm_lines import MISCOUNTED

NAME = "per-request metrics"
EXPECTS = "JSON of an answer with acceptance_histogram"
ACCEPTED = ("num_accepted_draft_tokens", "total_accepted_draft_tokens")
DRAFTED = ("num_draft_tokens", "total_draft_tokens")
# Mean tokens of all iterations, with a draft or without.
MEAN = "avg_decoded_tokens_per_iter"
# Levels of an answer at which its metrics may stand.
DEEPEST = 8


class Request(NamedTuple):
    """Blocks of one request by accepted drafts; drafted, steps: None where the answer does not have them."""

    histogram: tuple[int, ...]
    length: int
    drafted: int | None
    steps: float | None
    engine: str

    @property
    def blocks(self) -> int:
        """Return the number of blocks with drafts."""
        return sum(self.histogram)

    @property
    def accepted(self) -> int:
        """Return the number of accepted drafts."""
        return sum(k * n for k, n in enumerate(self.histogram))


def knows(text: str) -> bool:
    """Return whether a file is of this format."""
    return '"acceptance_histogram"' in text and (text.lstrip()[:1] in "[{" or is_stream(text))


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    """Return the one run of a file: the last counts of every answer, added up."""
    events = pieces(text, source)
    # An event of its own may have the tokens of an answer, the last of its stream.
    tokens: dict[str, float | None] = {}
    for event, (answer, name) in enumerate(events):
        if (count := _completion_tokens(answer, f"{source}: answer {event}")) is not None:
            tokens[name] = count
    counts, requests = list[Counts](), list[Request]()

    # Read the metrics of every choice in every event.
    for event, (answer, name) in enumerate(events):
        metrics = list(_metrics(answer, DEEPEST))
        alone = tokens.get(name) if len(metrics) == 1 else None
        for place, metric in enumerate(metrics):
            requests.append(_request(metric, alone, f"{source}: answer {event}"))
            by_accepted = {f"acceptance_histogram[{n}]": float(v) for n, v in enumerate(requests[-1].histogram)}
            counts.append(Counts(f"{name}, choice {choice(answer) + place}", by_accepted))

    # Add up the last event of each answer.
    answers = [requests[i] for i in last_places(counts, source)]
    if not sum(request.blocks for request in answers):
        raise ValueError(f"{source} has an acceptance_histogram without blocks; expected some")
    blocks, accepted = sum(request.blocks for request in answers), sum(request.accepted for request in answers)
    longest = max(request.length for request in answers)
    survivors = tuple(sum(sum(request.histogram[k:]) for request in answers) for k in range(1, longest + 1))
    drafted = [request.drafted for request in answers]
    total = None if None in drafted else sum(n for n in drafted if n is not None)
    return (
        check_counts(
            EngineLog(
                answers[0].engine,
                source,
                True,
                length=float(longest) if total is None else total / blocks,
                blocks=blocks,
                drafted=total,
                accepted=accepted,
                kept=survivors,
                coverage=_coverage(answers),
                notes=note_of(len(requests), len(answers)),
            )
        ),
    )


def _metrics(value: Any, deepest: int, mean: Any = None) -> Iterator[dict[str, Any]]:
    """Yield every object in an answer that has a histogram, with the mean tokens of an iteration that go with it."""
    if isinstance(value, dict):
        mean = value.get(MEAN, mean)
    if isinstance(value, dict) and "acceptance_histogram" in value:
        yield value if mean is None else {**value, MEAN: mean}
    elif deepest and isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _metrics(part, deepest - 1, mean)


def _completion_tokens(answer: Any, place: str) -> float | None:
    """Return the tokens of an answer by its usage; None if it has none."""
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict) or "completion_tokens" not in usage:
        return None
    return number(str(usage["completion_tokens"]), f"{place}: completion_tokens")


def _request(metric: dict[str, Any], tokens: float | None, place: str) -> Request:
    """Return the counts of one request; ValueError where its numbers contradict each other."""
    # The histogram: as many numbers as a block has drafts, and one more.
    counts = metric["acceptance_histogram"]
    if not isinstance(counts, list) or not counts:
        raise ValueError(f"{place}: acceptance_histogram is no list; expected blocks that kept 0, 1, ... drafts")
    histogram = tuple(_whole(n, f"{place}: acceptance_histogram[{k}]") for k, n in enumerate(counts))
    length = _whole(metric.get("num_spec_tokens", len(histogram) - 1), f"{place}: num_spec_tokens")
    if len(histogram) != length + 1:
        raise ValueError(
            f"{place}: {len(histogram)} numbers in acceptance_histogram; "
            f"blocks of {length} drafts keep 0, ..., {length}"
        )

    # Totals that are printed beside it must be its own.
    drafted = _named(metric, DRAFTED, place)
    request = Request(histogram, length, drafted, None, "vLLM" if DRAFTED[0] in metric else "TensorRT-LLM")
    accepted = _named(metric, ACCEPTED, place)
    if accepted is not None and accepted != request.accepted:
        raise ValueError(f"{place}: acceptance_histogram counts {request.accepted} accepted drafts, not {accepted}")
    blocks = _named(metric, ("num_spec_steps",), place)
    if blocks is not None and blocks != request.blocks:
        raise ValueError(f"{place}: acceptance_histogram counts {request.blocks} blocks, not {blocks}")
    return request._replace(steps=_steps(metric, request, tokens, place))


def _steps(metric: dict[str, Any], request: Request, tokens: float | None, place: str) -> float | None:
    """Return the decoding steps of a request: each emits its accepted drafts and one token.

    The first token of the answer is of the prompt's pass.
    """
    if tokens is not None:
        return tokens - 1 - request.accepted
    if MEAN not in metric or not request.accepted:
        return None
    mean = number(str(metric[MEAN]), f"{place}: {MEAN}")
    return request.accepted / (mean - 1) if mean > 1 else None


def _coverage(requests: list[Request]) -> float | None:
    """Return the share of steps that had a draft; None where it does not follow."""
    steps = [request.steps for request in requests]
    total = sum(n for n in steps if n is not None)
    blocks = sum(request.blocks for request in requests)
    if None in steps or total < MISCOUNTED * blocks:
        return None
    return min(blocks / total, 1.0)


def _named(held: dict[str, Any], names: tuple[str, ...], place: str) -> int | None:
    """Return the first of these counts that is there; None without one."""
    name = next((name for name in names if held.get(name) is not None), None)
    return None if name is None else _whole(held[name], f"{place}: {name}")


def _whole(value: Any, place: str) -> int:
    """Return a whole number of JSON; ValueError with its place for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{place} is {str(value)[:40]!r}; expected a whole number")
    return whole(number(str(value), place), place)
