"""The systems as a person sees them: a row each in a terminal, and the tables of the site's page."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from real.papers import systems
from real.papers.lab import choices
from real.papers.lab.contract import System, from_json
from real.papers.lab.records import SCHEMA, Held, path_of, stale, verdict_of
from real.studies.intervals import Estimate
from specsim.report.forms import Cell, Number, Table
from specsim.report.text import aligned, markdown, terminal_width

# Columns where there is no terminal to ask.
_NARROW = 80
# What pages read of every record; older ones lack the digests of code and the scale.
NEEDED = {"complete", "provenance", "code", "test_hash", "weights", "seconds", "verdict", "found"}


def shown(value: float | Estimate) -> str:
    """A number, with its interval if it has one, to the digits that the interval leaves.

    Examples
    --------
    >>> shown(Estimate(0.29041, 0.28213, 0.29987))
    '0.290 [0.282, 0.300]'
    >>> shown(0.25), shown(Estimate(2.5, 2.5, 2.5))
    ('0.25', '2.5')
    """
    if not isinstance(value, Estimate):
        return f"{value:.4g}"
    if value.high <= value.low:
        return f"{value.value:.4g}"
    digits = min(6, max(0, 1 - math.floor(math.log10(value.high - value.low))))
    return f"{value.value:.{digits}f} [{value.low:.{digits}f}, {value.high:.{digits}f}]"


def ours(held: Held, system: System) -> str:
    """The number beside the claim."""
    return f"{system.HEADLINE}: {shown(from_json(held['found']).measured[system.HEADLINE])}"


def row(system: System, held: Held, verdict: str) -> list[str]:
    """The cells of a system."""
    return [system.NAME, system.CLAIM, ours(held, system), verdict, f"{held['seconds']:.0f}"]


def in_columns(rows: list[list[str]], width: int) -> str:
    """The cells of rows under their headings."""
    return aligned([["system", "claim", "ours (95 %)", "verdict", "seconds"], *rows], width)


def table(records: dict[str, Held]) -> str:
    """A row a system, for a terminal; 80 columns where there is none."""
    rows = []
    for name, held in records.items():
        system = systems.find(name)
        rows.append(row(system, held, verdict_of(held, system)))
    return in_columns(rows, terminal_width() or _NARROW)


def recorded(folder: Path) -> dict[str, Held]:
    """Name -> record of every system of the registry that has one in a folder; ValueError for another file."""
    paths = {name: path_of(folder, name) for name in systems.names()}
    return {name: _read(path) for name, path in paths.items() if path.is_file()}


def _read(path: Path) -> Held:
    """Return the record in a JSON file; ValueError if there is no complete one."""
    try:
        held: Held = json.loads(path.read_text(encoding="utf-8"))
        is_record = held["schema"] == SCHEMA and held.keys() >= NEEDED
    except (ValueError, KeyError, TypeError, RecursionError):
        is_record = False
    if not is_record:
        raise ValueError(
            f"record {path} is not a whole record of a system: give another folder, or run the system anew"
        )
    return held


def pages(records: dict[str, Held], names: list[str]) -> dict[str, str]:
    """Marker -> generated part of the page: a row for each of these systems, recorded or not."""
    claims = [["system", "paper", "claim", "ours (95 %)", "verdict", "seconds", "test, fixed before the run"]]
    axes, parts = [["system", *choices.VALUES]], []
    for name in names:
        system = systems.find(name)
        held = records.get(name)
        result = ("not recorded yet", "", "") if held is None else _result(held, system)
        claims.append([system.NAME, _link(system.PAPER), system.CLAIM, *result, system.TEST])
        axes.append([system.NAME, *choices.whole(system.AXES).values()])
        if held is not None:
            parts.append(f"### {system.NAME} (`{name}`)\n\n{numbers(held)}\n\n{made_by(held)}")
    return {"systems": markdown(claims), "axes": markdown(axes), "numbers": "\n\n".join(parts)}


def csv_tables(records: dict[str, Held]) -> list[Table]:
    """Return the tables of `pages` for CSV: numbers are whole, with intervals, beside their system."""
    claims: list[list[Cell]] = [["system", "paper", "claim", "number", "ours", "verdict", "seconds", "test"]]
    axes: list[list[Cell]] = [["system", *choices.VALUES]]
    values: list[list[Cell]] = [["system", "number", "value", "how"]]
    for name, held in records.items():
        # The claim, with the headline's number and the verdict, or why the record is stale.
        system = systems.find(name)
        reason = stale(held, system)
        headline: list[Cell] = [system.HEADLINE, _number(from_json(held["found"]).measured[system.HEADLINE])]
        claims.append(
            [
                *(system.NAME, system.PAPER, system.CLAIM),
                *(["", ""] if reason else headline),
                f"stale: {reason}" if reason else verdict_of(held, system),
                Number(f"{held['seconds']:.0f}", held["seconds"]),
                system.TEST,
            ]
        )

        # The values on the axes, and all numbers.
        axes.append([system.NAME, *choices.whole(system.AXES).values()])
        values += [[system.NAME, name, _number(value), how] for name, value, how in _numbers(held)]
    return [claims, axes, values]


def _number(value: float | Estimate) -> Number:
    """Return the cell of a number, with its interval if it has one."""
    ends = (value.low, value.high) if isinstance(value, Estimate) else (None, None)
    return Number(shown(value), value.value if isinstance(value, Estimate) else value, *ends)


def _result(held: Held, system: System) -> tuple[str, str, str]:
    """The cells of a record: the headline's number, the verdict and the seconds."""
    reason, seconds = stale(held, system), f"{held['seconds']:.0f}"
    if reason:
        return f"stale: {reason}", f"stale: {reason}", seconds
    return ours(held, system), f"**{verdict_of(held, system)}**", seconds


def _link(paper: str) -> str:
    """A paper as a link, if it is on arXiv."""
    name, _, number = paper.partition(":")
    return f"[{number}](https://arxiv.org/abs/{number})" if name == "arXiv" and number else paper


def numbers(held: Held) -> str:
    """Every number of a record, as Markdown."""
    rows = [["number", "value [95 %]", "how"]]
    return markdown([*rows, *([name, shown(value), how] for name, value, how in _numbers(held))])


def _numbers(held: Held) -> Iterator[tuple[str, float | Estimate, str]]:
    """Yield every number of a record: its name, its value, and how it is known."""
    record = from_json(held["found"])
    parts: list[tuple[str, Any]] = [
        ("measured", record.measured),
        ("predicted", record.predicted),
        ("exact", record.exact),
    ]
    for how, values in parts:
        for name, value in values.items():
            yield name, value, how


def made_by(held: Held) -> str:
    """Machine, versions and command of a record, as a sentence."""
    what = held["provenance"]
    used, machine = what["versions"], what["machine"]
    known = f"It holds digests of the code of {len(held['code'])} modules: the system's file and what that imports."
    return (
        f"Measured {what['date'][:10]} on {machine['processor']}, {what['threads']} thread, Python {used['python']}, "
        f"torch {used['torch']}, scikit-learn {what['scikit_learn']}: `{what['command']}`. {known}"
    )
