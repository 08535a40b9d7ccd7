"""What a person sees of the systems: a row each in a terminal, and the tables of the site's page."""

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

_NARROW = 80  # columns where there is no terminal to ask: a claim is a sentence


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
    """Those cells under their names."""
    return aligned([["system", "claim", "ours (95 %)", "verdict", "seconds"], *rows], width)


def table(kept: dict[str, Held]) -> str:
    """A row a system, for a terminal; 80 columns where there is none."""
    found = {name: systems.find(name) for name in kept}
    rows = [row(found[name], held, verdict_of(held, found[name])) for name, held in kept.items()]
    return in_columns(rows, terminal_width() or _NARROW)


def recorded(folder: Path) -> dict[str, Held]:
    """Name -> record of every system of the registry that has one in a folder."""
    found = {}
    for name in systems.names():
        path = path_of(folder, name)
        if path.is_file():
            held = json.loads(path.read_text(encoding="utf-8"))
            if held.get("schema") != SCHEMA:
                raise ValueError(f"record {path} is none of a system")
            found[name] = held
    return found


def pages(kept: dict[str, Held], names: list[str]) -> dict[str, str]:
    """Marker -> generated part of the page: a row for every one of these systems, recorded or not."""
    claims = [["system", "paper", "claim", "ours (95 %)", "verdict", "seconds", "test, fixed before the run"]]
    axes, parts = [["system", *choices.VALUES]], []
    for name in names:
        system = systems.find(name)
        held = kept.get(name)
        found = ("not recorded yet", "", "") if held is None else _found(held, system)
        claims.append([system.NAME, _link(system.PAPER), system.CLAIM, *found, system.TEST])
        axes.append([system.NAME, *choices.whole(system.AXES).values()])
        if held is not None:
            parts.append(f"### {system.NAME} (`{name}`)\n\n{numbers(held)}\n\n{made_by(held)}")
    return {"systems": markdown(claims), "axes": markdown(axes), "numbers": "\n\n".join(parts)}


def csv_tables(kept: dict[str, Held]) -> list[Table]:
    """Return the tables of `pages` for CSV: every number whole, with its interval, beside the name of its system."""
    claims: list[list[Cell]] = [["system", "paper", "claim", "number", "ours", "verdict", "seconds", "test"]]
    axes: list[list[Cell]] = [["system", *choices.VALUES]]
    values: list[list[Cell]] = [["system", "number", "value", "how"]]
    for name, held in kept.items():
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
        axes.append([system.NAME, *choices.whole(system.AXES).values()])
        values += [[system.NAME, name, _number(value), how] for name, value, how in _numbers(held)]
    return [claims, axes, values]


def _number(value: float | Estimate) -> Number:
    """Return the cell of a number, with its interval if it has one."""
    ends = (value.low, value.high) if isinstance(value, Estimate) else (None, None)
    return Number(shown(value), value.value if isinstance(value, Estimate) else value, *ends)


def _found(held: Held, system: System) -> tuple[str, str, str]:
    reason = stale(held, system)
    verdict = f"stale: {reason}" if reason else f"**{verdict_of(held, system)}**"
    shown_as = f"stale: {reason}" if reason else ours(held, system)
    return shown_as, verdict, f"{held['seconds']:.0f}"


def _link(paper: str) -> str:
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
    modules = len(held.get("code", {}))
    if modules > 1:
        older = f" It holds digests of the code of {modules} modules: the system's file and what that imports."
    elif modules:
        older = " It holds a digest of the system's file alone: what that imports may have changed."
    else:
        older = " It holds no digest of its code, which may have changed."
    return (
        f"Measured {what['date'][:10]} on {machine['processor']}, {what['threads']} thread, Python {used['python']}, "
        f"torch {used['torch']}, scikit-learn {what['scikit_learn']}: `{what['command']}`." + older
    )
