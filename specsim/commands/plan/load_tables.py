"""Cells and tables that clients of a closed loop and requests at a rate share."""

from __future__ import annotations

from collections.abc import Sequence

from specsim.report import forms as style
from specsim.speed.load.passes import ServedTimes
from specsim.speed.prediction import Estimate

KINDS = (("first token", "ttft_s"), ("per token", "tpot_s"), ("whole answer", "total_s"))


def times_table(
    load: str, rows: Sequence[tuple[style.Cell, ServedTimes | None, ServedTimes | None]]
) -> list[list[style.Cell]]:
    """Return the table of times of requests in ms, plain and with drafts; "never" where a load cannot be served.

    load: the name of the first column, whose cells begin the rows.
    """
    table: list[list[style.Cell]] = [
        [load, "time, ms", "plain\nmean", "\nP50", "\nP95", "\nP99", "drafts\nmean", "\nP50", "\nP95", "\nP99"]
    ]
    for first, *ways in rows:
        for name, kind in KINDS:
            if all(way is None or getattr(way, kind) is None for way in ways):
                continue
            cells: list[style.Cell] = []
            for way in ways:
                times = None if way is None else getattr(way, kind)
                if way is None:
                    cells += [style.Number("never", None)] * 4
                elif times is None:
                    cells += [""] * 4
                else:
                    cells += [short(1e3 * value) for value in times]
            table.append([first, name, *cells])
    return table


def short(value: float) -> style.Number:
    """Return a number that is shown with a decimal below 100."""
    return style.Number(f"{value:.0f}" if value >= 100 else f"{value:.1f}", value)


def interval_cell(estimate: Estimate) -> style.Cell:
    """Return the cell of an interval."""
    low, high = estimate.low, estimate.high
    if low is None or high is None:
        return style.Number("not known", None)
    return style.Number(f"[{low:.2f}, {high:.2f}]", None, low, high)


def listed(numbers: Sequence[str]) -> str:
    """Return numbers as a list in words."""
    return " and ".join(filter(None, [", ".join(numbers[:-1]), numbers[-1]]))
