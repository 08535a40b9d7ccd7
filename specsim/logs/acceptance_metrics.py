"""Read the counts of one request, as vLLM, TensorRT-LLM and aiperf name them; each file of an engine calls it."""

from __future__ import annotations

import re
from typing import Any

from specsim.lengths.hazards import MAX_DRAFTS
from specsim.lengths.request_record import LengthCounts, RequestAcceptance, request_of_blocks
from specsim.logs.printed import check_means, check_printed
from specsim.logs.record import number, whole

ACCEPTED = ("num_accepted_draft_tokens", "total_accepted_draft_tokens")
DRAFTED = ("num_draft_tokens", "total_draft_tokens")
BY_LENGTH = "acceptance_histogram_by_draft_length"


def read_metrics(metric: dict[str, Any], place: str) -> RequestAcceptance:
    """Return the counts of one request; ValueError where its numbers contradict each other."""
    # The histogram: as many numbers as the longest block has drafts, and one more.
    counts = _dense(metric["acceptance_histogram"], f"{place}: acceptance_histogram")
    length = whole_number(_length(metric, counts), f"{place}: num_spec_tokens")
    if len(counts) > length + 1 or (isinstance(metric["acceptance_histogram"], list) and len(counts) != length + 1):
        raise ValueError(
            f"{place}: {len(counts)} numbers in acceptance_histogram; blocks of {length} drafts keep 0, ..., {length}"
        )
    counts += [0] * (length + 1 - len(counts))
    blocks, accepted = sum(counts), sum(n * count for n, count in enumerate(counts))
    # Totals that are printed beside it must be its own.
    drafted = named(metric, DRAFTED, place)
    _check_total("accepted drafts", accepted, named(metric, ACCEPTED, place), place)
    _check_total("blocks", blocks, named(metric, ("num_spec_steps",), place), place)
    rows = _by_length(metric, place) or ((LengthCounts(length, tuple(counts)),) if blocks else ())
    request = RequestAcceptance(blocks, accepted, drafted, rows)
    _check_rows(request, counts, place)
    in_all = sum(row.drafted * sum(row.counts) for row in rows) if drafted is None else drafted
    check_means(metric, blocks, in_all, accepted, place)
    _check_positions(metric, counts, place)
    return request


# How a list of rates by position is named.
POSITIONS = re.compile(r"per_pos\w*_rates?|acceptance_rates?_per_pos\w*|per_pos\w*acceptance\w*")


def _check_positions(metric: dict[str, Any], counts: list[int], place: str) -> None:
    """ValueError if rates by position, of all blocks, are not those of the histogram."""
    name = next((name for name in metric if POSITIONS.fullmatch(name) and isinstance(metric[name], list)), None)
    if name is None or not sum(counts):
        return
    for k, rate in enumerate(metric[name][: len(counts) - 1]):
        check_printed(f"{name}[{k}]", str(rate), [sum(counts[k + 1 :]) / sum(counts)], place)


def _length(metric: dict[str, Any], counts: list[int]) -> Any:
    """Return the most drafts of a block: as printed, or as the histogram has it."""
    printed = metric.get("num_spec_tokens")
    return len(counts) - 1 if printed is None else printed


def _dense(value: Any, place: str) -> list[int]:
    """Return a histogram as a list, also one that maps accepted drafts to blocks, as aiperf writes it."""
    if isinstance(value, dict):
        keys = [int(key) if key.isdecimal() and len(key) < 6 else -1 for key in value]
        if not value or min(keys) < 0 or max(keys) > MAX_DRAFTS:
            raise ValueError(f"{place} maps {str(list(value))[:40]}; expected numbers of accepted drafts")
        counts = [0] * (max(keys) + 1)
        for key, count in zip(keys, value.values(), strict=True):
            counts[key] = whole_number(count, f"{place}[{key}]")
        return counts
    if not isinstance(value, list) or not value:
        raise ValueError(f"{place} is no list; expected blocks that kept 0, 1, ... drafts")
    return [whole_number(count, f"{place}[{n}]") for n, count in enumerate(value)]


def _by_length(metric: dict[str, Any], place: str) -> tuple[LengthCounts, ...]:
    """Return the blocks by draft length, from their histograms or step by step; () where an answer has neither."""
    held = metric.get(BY_LENGTH)
    if held is not None:
        if not isinstance(held, dict) or not all(key.isdecimal() and len(key) < 6 for key in held):
            raise ValueError(f"{place}: {BY_LENGTH} is {str(held)[:40]!r}; expected draft lengths with a list each")
        rows = []
        for key in sorted(held, key=int):
            counts = held[key]
            if not isinstance(counts, list) or len(counts) != int(key) + 1:
                raise ValueError(f"{place}: {BY_LENGTH}[{key}] needs {int(key) + 1} counts: 0, ..., {key} accepted")
            whole_numbers = [whole_number(n, f"{place}: {BY_LENGTH}[{key}]") for n in counts]
            rows.append(LengthCounts(int(key), tuple(whole_numbers)))
        return tuple(rows)
    steps = [metric.get(name) for name in ("per_step_accepted", "per_step_drafted")]
    if None in steps:
        return ()
    for name, row in zip(("per_step_accepted", "per_step_drafted"), steps, strict=True):
        if not isinstance(row, list):
            raise ValueError(f"{place}: {name} is no list; expected one number for each block")
        for i, value in enumerate(row):
            whole_number(value, f"{place}: {name}[{i}]")
    try:
        request = request_of_blocks(*steps)
    except ValueError as error:
        raise ValueError(f"{place}: per_step_{error}") from None
    # A block whose drafts were all invalid is a block of 0 drafts.
    empty = (LengthCounts(0, (request.plain_steps,)),) if request.plain_steps else ()
    return (*empty, *request.histogram)


def _check_rows(request: RequestAcceptance, counts: list[int], place: str) -> None:
    """ValueError if histograms by draft length do not sum to the histogram over all, or to the drafted tokens."""
    for n, count in enumerate(counts):
        total = sum(row.counts[n] for row in request.histogram if n <= row.drafted)
        if total != count:
            raise ValueError(f"{place}: {count} blocks accepted {n} drafts, {total} by draft length; they differ")
    drafted = sum(row.drafted * sum(row.counts) for row in request.histogram)
    if request.blocks and request.drafted is not None and request.drafted > drafted:
        raise ValueError(
            f"{place}: {request.drafted} drafts in {request.blocks} blocks; blocks of these lengths have {drafted}"
        )


def _check_total(what: str, counted: int, printed: int | None, place: str) -> None:
    """ValueError if a printed total is not that of the histogram."""
    if printed is not None and printed != counted:
        raise ValueError(f"{place}: acceptance_histogram counts {counted} {what}, not {printed}")


def named(held: dict[str, Any], names: tuple[str, ...], place: str) -> int | None:
    """Return the first of these counts that is there; None without one."""
    name = next((name for name in names if held.get(name) is not None), None)
    return None if name is None else whole_number(held[name], f"{place}: {name}")


def whole_number(value: Any, place: str) -> int:
    """Return a whole number of JSON; ValueError with its place for anything else."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"{place} is {str(value)[:40]!r}; expected a whole number")
    return whole(number(str(value), place), place)
