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
MEAN = "avg_decoded_tokens_per_iter"  # of all iterations, with a draft or without
# Levels of an answer at which its metrics may stand.
DEEPEST = 8


class Request(NamedTuple):
    """Blocks of one request by drafts kept; drafted, steps: None where the answer does not say it."""

    histogram: tuple[int, ...]
    length: int
    drafted: int | None
    steps: float | None
    engine: str

    @property
    def blocks(self) -> int:
        """Blocks with drafts."""
        return sum(self.histogram)

    @property
    def accepted(self) -> int:
        """Drafts kept."""
        return sum(k * n for k, n in enumerate(self.histogram))


def knows(text: str) -> bool:
    return '"acceptance_histogram"' in text and (text.lstrip()[:1] in "[{" or is_stream(text))


def parse(text: str, source: str, by_batch: bool = False) -> tuple[EngineLog, ...]:
    events = pieces(text, source)
    # An event of its own may have the tokens of an answer, the last of its stream.
    tokens: dict[str, float | None] = {}
    for i, (answer, name) in enumerate(events):
        if (count := _completion_tokens(answer, f"{source}: answer {i}")) is not None:
            tokens[name] = count
    counts, requests = list[Counts](), list[Request]()
    for i, (answer, name) in enumerate(events):
        metrics = list(_metrics(answer, DEEPEST))
        alone = tokens.get(name) if len(metrics) == 1 else None
        for k, one in enumerate(metrics):
            requests.append(_request(one, alone, f"{source}: answer {i}"))
            of_kept = {f"acceptance_histogram[{n}]": float(v) for n, v in enumerate(requests[-1].histogram)}
            counts.append(Counts(f"{name}, choice {choice(answer) + k}", of_kept))
    found = [requests[i] for i in last_places(counts, source)]
    if not sum(one.blocks for one in found):
        raise ValueError(f"{source} has an acceptance_histogram without blocks; expected some")
    blocks, accepted = sum(one.blocks for one in found), sum(one.accepted for one in found)
    longest = max(one.length for one in found)
    kept = tuple(sum(sum(one.histogram[k:]) for one in found) for k in range(1, longest + 1))
    drafted = [one.drafted for one in found]
    total = None if None in drafted else sum(n for n in drafted if n is not None)
    return (
        check_counts(
            EngineLog(
                found[0].engine,
                source,
                True,
                length=float(longest) if total is None else total / blocks,
                blocks=blocks,
                drafted=total,
                accepted=accepted,
                kept=kept,
                coverage=_coverage(found),
                notes=note_of(len(requests), len(found)),
            )
        ),
    )


def _metrics(value: Any, deepest: int, mean: Any = None) -> Iterator[dict[str, Any]]:
    """Every object in an answer that has a histogram, with the tokens of an iteration that stand around it."""
    if isinstance(value, dict):
        mean = value.get(MEAN, mean)
    if isinstance(value, dict) and "acceptance_histogram" in value:
        yield value if mean is None else {**value, MEAN: mean}
    elif deepest and isinstance(value, (dict, list)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _metrics(part, deepest - 1, mean)


def _completion_tokens(answer: Any, place: str) -> float | None:
    usage = answer.get("usage") if isinstance(answer, dict) else None
    if not isinstance(usage, dict) or "completion_tokens" not in usage:
        return None
    return number(str(usage["completion_tokens"]), f"{place}: completion_tokens")


def _request(held: dict[str, Any], tokens: float | None, place: str) -> Request:
    counts = held["acceptance_histogram"]
    if not isinstance(counts, list) or not counts:
        raise ValueError(f"{place}: acceptance_histogram is no list; expected blocks that kept 0, 1, ... drafts")
    histogram = tuple(_whole(n, f"{place}: acceptance_histogram[{k}]") for k, n in enumerate(counts))
    length = _whole(held.get("num_spec_tokens", len(histogram) - 1), f"{place}: num_spec_tokens")
    if len(histogram) != length + 1:
        raise ValueError(
            f"{place}: {len(histogram)} numbers in acceptance_histogram; "
            f"blocks of {length} drafts keep 0, ..., {length}"
        )
    drafted = _named(held, DRAFTED, place)
    found = Request(histogram, length, drafted, None, "vLLM" if DRAFTED[0] in held else "TensorRT-LLM")
    accepted = _named(held, ACCEPTED, place)
    if accepted is not None and accepted != found.accepted:
        raise ValueError(f"{place}: acceptance_histogram counts {found.accepted} accepted drafts, not {accepted}")
    blocks = _named(held, ("num_spec_steps",), place)
    if blocks is not None and blocks != found.blocks:
        raise ValueError(f"{place}: acceptance_histogram counts {found.blocks} blocks, not {blocks}")
    return found._replace(steps=_steps(held, found, tokens, place))


def _steps(held: dict[str, Any], found: Request, tokens: float | None, place: str) -> float | None:
    """Decoding steps of a request: each emits a token and what it keeps, behind the first of the prompt's pass."""
    if tokens is not None:
        return tokens - 1 - found.accepted
    if MEAN not in held or not found.accepted:
        return None
    mean = number(str(held[MEAN]), f"{place}: {MEAN}")
    return found.accepted / (mean - 1) if mean > 1 else None


def _coverage(found: list[Request]) -> float | None:
    """The share of steps that had a draft; None where it does not follow."""
    steps = [one.steps for one in found]
    total = sum(n for n in steps if n is not None)
    blocks = sum(one.blocks for one in found)
    if None in steps or total < MISCOUNTED * blocks:
        return None
    return min(blocks / total, 1.0)


def _named(held: dict[str, Any], names: tuple[str, ...], place: str) -> int | None:
    name = next((name for name in names if held.get(name) is not None), None)
    return None if name is None else _whole(held[name], f"{place}: {name}")


def _whole(value: Any, place: str) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{place} is {str(value)[:40]!r}; expected a whole number")
    return whole(number(str(value), place), place)
