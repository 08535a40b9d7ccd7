"""Means and rates that a log prints beside its counts: they are those of the counts, or something else was counted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from specsim.logs.record import number

# Relative difference of a printed mean and its counts that the rounding of posted results explains.
ROUNDED = 0.01
# Names of tokens per target call, and of accepted over drafted, in JSON and CSV of engines and benchmarks.
MEANS = ("mean_acceptance_length", "acceptance_length", "avg_acceptance_length", "accept_length")
RATES = ("draft_acceptance_rate", "acceptance_rate", "accept_rate")


def half_unit(text: str) -> float:
    """Return half a unit of the last digit of a printed number, and a little.

    Examples
    --------
    >>> half_unit("0.64"), half_unit("12")
    (0.0051, 0.51)
    """
    decimals = len(text.partition(".")[2]) if "e" not in text.lower() else 15
    return float(f"{0.51 * 10**-decimals:.3g}")


def contradiction(name: str, text: str, counted: Sequence[float], place: str) -> str:
    """Return that a printed number is none of those that the counts give, by the definitions of several versions.

    "" where it is one of them.

    Examples
    --------
    >>> contradiction("accept", "0.65", [1.3 / 2], "on.log")
    ''
    >>> contradiction("accept", "0.75", [0.65], "on.log")
    'accept is 0.75, and the counts give 0.65; they differ'
    """
    printed = number(text, f"{place}: {name}")
    if any(abs(printed - value) <= max(ROUNDED * max(printed, value), half_unit(text)) for value in counted):
        return ""
    values = " or ".join(f"{value:.4g}" for value in dict.fromkeys(counted))
    return f"{name} is {printed:.4g}, and the counts give {values}; they differ"


def check_printed(name: str, text: str, counted: Sequence[float], place: str) -> None:
    """ValueError unless a printed number is one of those that the counts give."""
    words = contradiction(name, text, counted, place)
    if words:
        raise ValueError(f"{place}: {words}")


def check_means(held: Mapping[str, Any], blocks: float, drafted: float, accepted: float, place: str) -> None:
    """ValueError if a mean length or rate among these fields, by any of its names, is not that of the counts.

    A rate may be printed in percent.
    """
    for name in MEANS if blocks else ():
        if held.get(name) not in (None, ""):
            check_printed(name, str(held[name]), [1 + accepted / blocks], place)
    for name in RATES if drafted else ():
        if held.get(name) not in (None, ""):
            rate = accepted / drafted
            percent = number(str(held[name]), f"{place}: {name}") > 1
            check_printed(name, str(held[name]), [100 * rate if percent else rate], place)


_GAUGE = re.compile(r"^\w+:(\w*accept\w*?_(len\w*|rate))(?:\{[^}]*\})?\s+([\d.]+)\s*$", re.MULTILINE)


def check_gauges(text: str, blocks: float, drafted: float, accepted: float, place: str) -> None:
    """ValueError if a gauge of acceptance is not that of the counters beside it; of one scrape of one server."""
    gauges = _GAUGE.findall(text)
    if len({name for name, _, _ in gauges}) < len(gauges) or not blocks or not drafted:
        return
    for name, kind, value in gauges:
        check_printed(name, value, [accepted / drafted if kind == "rate" else 1 + accepted / blocks], place)


def check_emitted(tokens: float, blocks: float, accepted: float, room: float, place: str) -> None:
    """ValueError if blocks emitted more tokens than were generated, beyond the ends of answers that cut a block.

    tokens: those behind the first of each answer. room: tokens of blocks that ends of answers may have cut off.
    """
    if blocks + accepted > tokens + room:
        raise ValueError(
            f"{place}: {blocks:g} blocks with {accepted:g} accepted drafts emit {blocks + accepted:g} tokens, and "
            f"{tokens:g} were generated behind the first of each answer; expected no more: likely counts of other "
            "requests, or of another time"
        )
