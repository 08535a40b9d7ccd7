"""Rows of measured speedups as papers print them: read, checked, and brought to one unit a row."""

from __future__ import annotations

import csv
import difflib
import re
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from specsim.base.reading import read_text
from specsim.lengths.blocks import block_efficiency

REQUIRED = ("row_id", "source", "gamma_or_tree", "alpha_or_tau", "alpha_or_tau_kind", "measured_speedup")
_OPTIONAL = (
    *("table_or_figure", "hardware", "target", "draft", "c_or_draft_ms", "draft_unit", "target_ms", "verify_ms"),
    *("batch", "rate", "prompt_tokens", "output_tokens"),
)
# Columns that tell readers what was measured, and enter no prediction.
_FOR_READERS = ("task", "temperature", "context", "notes")
_UNITS = ("ratio", "ratio c", "ms/token", "ms/draft step", "ms/level", "ms/cycle")
# Largest file of rows, in bytes.
MOST_BYTES = 1 << 26
# Most drafting steps of a cycle.
_DEEPEST = 10_000


class Load(NamedTuple):
    """The load of a row that was measured at a request rate.

    rate: requests a second; prompt, output: tokens of each; names: target, draft, hardware. The
    row's batch is then the most requests decoded together, and its speedup that of the mean time of
    a request.
    """

    rate: float
    prompt: int
    output: int
    names: tuple[str, str, str]


class Row(NamedTuple):
    """One printed measurement.

    Times are in the row's unit: milliseconds, or target steps where no step is printed. levels:
    drafting steps in a cycle, None where the row does not say; tau: tokens per target call, None
    likewise; draft: of a whole cycle; draft and verify None: not printed. slack: relative rounding
    of what is printed. machine: rows that share it share an overhead. iid: tau was computed from
    one acceptance for all positions. batch: sequences decoded together, 1 where the row does not
    say. load: of rows measured at a request rate, None of others.

    Examples
    --------
    >>> row = shipped()[0]
    >>> row.name, row.plain, row.draft, row.verify
    ('leviathan2023-001', 1.0, 0.14, None)
    """

    name: str
    source: str
    machine: tuple[str, ...]
    levels: int | None
    tau: float | None
    plain: float
    draft: float | None
    verify: float | None
    speedup: float
    slack: float
    iid: bool
    batch: int = 1
    load: Load | None = None


def shipped() -> list[Row]:
    """Return the rows that come with the project (`specsim/claims/data/published.csv`)."""
    text = (files("specsim.claims") / "data" / "published.csv").read_text(encoding="utf-8")
    return parse(text, "published.csv")


def read(path: Path) -> list[Row]:
    """Return the rows of a file of the shipped rows' format.

    Raises ValueError that names the row and the column of what is wrong.
    """
    try:
        text = read_text(path, MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from None
    return parse(text, path.name)


def parse(text: str, name: str) -> list[Row]:
    """Return the rows of a CSV file's text; `name` is the file's name in errors."""
    # Read the lines.
    table = csv.DictReader(text.splitlines())
    try:
        lines = list(table)
    except csv.Error as error:
        raise ValueError(f"{name}, line {table.line_num + 1}: {error}") from None

    # Check the columns. A column that is not read may be a misspelt one, as target_s for target_ms.
    columns = list(table.fieldnames or ())
    for column in columns:
        if columns.count(column) > 1:
            raise ValueError(f"{name} has two columns {column}; leave out what is not to be read")
    missing = [column for column in REQUIRED if column not in columns]
    if missing:
        raise ValueError(f"{name} has no column {', '.join(missing)}")
    for column in sorted({*columns} - {*REQUIRED, *_OPTIONAL, *_FOR_READERS}):
        near = difflib.get_close_matches(column, (*REQUIRED, *_OPTIONAL), n=1, cutoff=0.8)
        remedy = f"{near[0]} is" if near else "leave it out, or put it into notes"
        raise ValueError(f"{name} has a column {column}, which is not read; {remedy}")

    # Read each line as a row.
    rows: list[Row] = []
    for line in lines:
        cells = {column: (line.get(column) or "").strip() for column in (*REQUIRED, *_OPTIONAL)}
        where = f"{name}, row {cells['row_id'] or len(rows) + 1}"
        if None in line:
            raise ValueError(f"{where} has more cells than there are columns; quote a cell that holds a comma")
        rows.append(_row(cells, where))

    # Names are unique.
    names = [row.name for row in rows]
    twice = {row for row in names if names.count(row) > 1}
    if twice:
        raise ValueError(f"{name} has two rows {', '.join(sorted(twice))}; row_id must be unique")
    return rows


def _row(cells: dict[str, str], where: str) -> Row:
    """Return the row of a line's cells; `where` names the line in errors."""
    # Cells that may not be empty.
    for column in ("row_id", "source"):
        if not cells[column]:
            raise ValueError(f"{where}: {column} is empty")
    speedup = _number(cells, "measured_speedup", where)
    if speedup is None:
        raise ValueError(f"{where}: measured_speedup is empty")

    # The length, and the times in the row's unit.
    levels = _levels(cells["gamma_or_tree"])
    if levels is not None and levels > _DEEPEST:
        raise ValueError(f"{where}: gamma_or_tree is {levels}, above {_DEEPEST}")
    step, verify = _number(cells, "target_ms", where), _number(cells, "verify_ms", where)
    if verify is not None and step is None:
        raise ValueError(f"{where}: verify_ms is given without target_ms, so its unit is not known")
    plain = 1.0 if step is None else step
    printed = [cells["measured_speedup"], cells["alpha_or_tau"]]
    draft = _draft(cells, levels, plain, step is not None, where)

    # A tree's shape is part of what its constant costs; a chain's length is priced by its draft
    # steps.
    machine = [cells[column] for column in ("source", "table_or_figure", "hardware", "target", "draft")]
    if draft is None:
        machine.append(cells["gamma_or_tree"])
    return Row(
        cells["row_id"],
        cells["source"],
        tuple(machine),
        levels,
        _tau(cells, levels, where),
        plain,
        draft,
        verify,
        speedup,
        sum(_rounding(text) for text in printed),
        cells["alpha_or_tau_kind"].startswith("alpha"),
        _whole(cells, "batch", where) or 1,
        _load(cells, levels, where),
    )


def _load(cells: dict[str, str], levels: int | None, where: str) -> Load | None:
    """Return the load of a row with a request rate, None of any other; raise ValueError for gaps."""
    rate = _number(cells, "rate", where)
    prompt, output = (_whole(cells, column, where) for column in ("prompt_tokens", "output_tokens"))
    if rate is None:
        if prompt or output:
            raise ValueError(f"{where}: prompt_tokens and output_tokens go with a rate, which is empty")
        return None
    if prompt is None or output is None:
        raise ValueError(f"{where}: rate is given without {'output' if prompt else 'prompt'}_tokens")
    if not levels or cells["batch"] == "":
        raise ValueError(f"{where}: rate is given without {'batch, the limit' if levels else 'the length of a chain'}")
    return Load(rate, prompt, output, (cells["target"], cells["draft"], cells["hardware"]))


def _whole(cells: dict[str, str], column: str, where: str) -> int | None:
    """Return a cell's whole number, None where it is empty or "n/s" (not stated)."""
    text = cells[column]
    if text in ("", "n/s"):
        return None
    if not text.isdecimal() or not 0 < int(text[:12]) <= _DEEPEST * 100:
        raise ValueError(f"{where}: {column} is {text!r}; it must be a whole number from 1 to {_DEEPEST * 100}")
    return int(text)


def _number(cells: dict[str, str], column: str, where: str) -> float | None:
    """Return a cell's positive number, None where it is empty or "n/s" (not stated)."""
    text = cells[column]
    if text in ("", "n/s"):
        return None
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{where}: {column} is {text!r}, not a number") from None
    least = 0.0 if column == "c_or_draft_ms" else 1e-300
    if not least <= value < float("inf"):
        raise ValueError(f"{where}: {column} is {text}; it must be a positive number")
    return value


def _levels(text: str) -> int | None:
    """Return the drafting steps: a chain's length, or d of a tree; None where neither is there."""
    if text.isdigit():
        return int(text)
    depth = re.search(r"\bd\s*=\s*(\d+)", text)
    return int(depth[1]) if depth else None


def _draft(cells: dict[str, str], levels: int | None, plain: float, timed: bool, where: str) -> float | None:
    """Return the draft's time of a cycle in the row's unit, None where no draft cost is printed.

    `plain` is the plain step in that unit; `timed` says that it is in milliseconds.
    """
    cost, unit = _number(cells, "c_or_draft_ms", where), cells["draft_unit"]
    if cost is None:
        return None
    if unit not in _UNITS:
        raise ValueError(f"{where}: draft_unit is {unit!r}; give ratio, ms/token, ms/draft step, ms/level or ms/cycle")

    # The drafting steps that the cost is for.
    if unit == "ms/cycle":
        steps = 1
    elif levels is None:
        how = f"gamma_or_tree is {cells['gamma_or_tree']!r}: give a chain's length, d=... or ms/cycle"
        raise ValueError(f"{where}: c_or_draft_ms is for one step, but {how}")
    else:
        steps = levels

    # A ratio is in plain steps; milliseconds need a plain step in milliseconds.
    if unit.startswith("ratio"):
        return cost * steps * plain
    if not timed:
        raise ValueError(f"{where}: c_or_draft_ms is in {unit}, but target_ms is empty")
    return cost * steps


def _tau(cells: dict[str, str], levels: int | None, where: str) -> float | None:
    """Return the tokens per target call, None where the row does not say.

    They are printed, or follow from counts of drafts or from one alpha at every position.
    """
    # Counts of drafts.
    kind, text = cells["alpha_or_tau_kind"], cells["alpha_or_tau"]
    if kind.startswith("counts"):
        pair = re.fullmatch(r"(\d+)\s*/\s*(\d+)", text)
        if not pair or not int(pair[2]) <= int(pair[1]) or int(pair[1]) == 0:
            raise ValueError(f"{where}: alpha_or_tau is {text!r}; counts are written drafted/accepted")
        return None if not levels else 1 + levels * int(pair[2]) / int(pair[1])

    # A number: tau, or alpha. One that is read off a figure does not count.
    value = None if kind.startswith("figure") else _number(cells, "alpha_or_tau", where)
    if value is None:
        return None
    if kind.split("(")[0].strip() not in ("tau", "alpha"):
        raise ValueError(f"{where}: alpha_or_tau_kind is {kind!r}; give alpha, tau or counts")
    if kind.startswith("tau"):
        return value
    if value > 1:
        raise ValueError(f"{where}: alpha_or_tau is {text}, but alpha is at most 1")
    return None if levels is None else float(block_efficiency(value, gamma=levels))


def _rounding(text: str) -> float:
    """Return half a unit of a printed number's last digit, as a part of the number."""
    match = re.fullmatch(r"(\d+)(?:\.(\d+))?", text)
    if not match or not float(text):
        return 0.0
    return 0.5 * 10.0 ** -len(match[2] or "") / float(text)
