"""Records of all studies: how many rows a record holds, and its tables."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

from specsim.report.forms import Form, Table, blocks_of, page

# Schema -> the module whose `markdown` shows it.
KINDS = {
    "specsim-compare/2": "compare.report",
    "specsim-chains/1": "compare.rules_report",
    "specsim-compare-trees/1": "compare.tree_report",
    "specsim-drafts/1": "drafts.report",
    "specsim-forced/1": "forced.report",
    "specsim-trees/1": "trees.report",
}
# Fields of rows that hold a number and the ends of its interval.
ESTIMATES = ("bound",)


def markdown(record: dict[str, Any], plot: str) -> str:
    """Return the tables of a record of any kind; only the report of its own kind is imported."""
    if record["schema"] not in KINDS:
        raise ValueError(f"schema {record['schema']!r} is unknown; known: {', '.join(KINDS)}")
    report = import_module(f"real.studies.{KINDS[record['schema']]}")
    text: str = report.markdown(record, plot)
    return text


def in_form(record: dict[str, Any], plot: str | None, form: Form) -> str:
    """Return the tables of a record of any kind in a form.

    Only Markdown shows the picture, if there is one. CSV has every number of every row, with all
    its digits.
    """
    text = markdown(record, plot or "")
    if form == "csv":
        groups = (_runs(record), record.get("gains", []))
        return page([_table(rows) for rows in groups if rows], form)
    if form == "markdown":
        lines = [line for line in text.splitlines() if plot is not None or not line.startswith("![")]
        return "\n".join(lines)
    blocks = [block for block in blocks_of(text) if not (isinstance(block, str) and block.startswith("!["))]
    return page(blocks, form)


def rows_of(record: dict[str, Any]) -> int:
    """Return how many rows a record holds."""
    runs = [record, *record.get("runs", [])]
    return sum(len(run.get("rows", [])) + len(run.get("pairs", [])) for run in runs)


def _runs(record: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of all runs, each with the entries that name its run, as its rule or batch."""
    rows = []
    for run in [record, *record.get("runs", [])]:
        run_names = {}
        if run is not record:
            run_names = {name: run[name] for name in run if not isinstance(run[name], list | dict)}
        rows += [run_names | row for row in [*run.get("pairs", []), *run.get("rows", [])]]
    return rows


def _table(rows: list[dict[str, Any]]) -> Table:
    """Return rows as a table with a column for every number, headings first.

    A heading is the number's path in the record: `speedup.measured`.
    """
    flat = [dict(_flat(row, "")) for row in rows]
    head = list(dict.fromkeys(name for row in flat for name in row))
    return [head, *([row.get(name, "") for name in head] for row in flat)]


def _flat(value: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each number or word in a value of a record.

    An interval yields both its ends, an estimate its value and both ends, any other list one text.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from _flat(inner, f"{name}.{key}" if name else key)
    elif name.endswith("interval") and isinstance(value, list):
        low, high = ("" if end is None else repr(end) for end in value)
        yield from ((f"{name}.low", low), (f"{name}.high", high))
    elif name in ESTIMATES and isinstance(value, list):
        # A number and the ends of its interval.
        yield from zip((name, f"{name}.low", f"{name}.high"), map(repr, value), strict=True)
    elif isinstance(value, list):
        yield name, " ".join(map(str, value))
    elif value is not None:
        yield name, value if isinstance(value, str) else repr(value)
