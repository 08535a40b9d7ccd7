"""Records of all studies: how many rows one holds, and its tables."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from specsim.report.forms import Form, blocks_of, page

KINDS = {  # schema -> the module whose `markdown` shows it
    "specsim-compare/2": "compare.report",
    "specsim-chains/1": "compare.rules_report",
    "specsim-compare-trees/1": "compare.tree_report",
    "specsim-drafts/1": "drafts.report",
    "specsim-forced/1": "forced.report",
    "specsim-trees/1": "trees.report",
}


def markdown(record: dict[str, Any], plot: str) -> str:
    """The tables of a record of any kind; only the report of its own kind is imported."""
    if record["schema"] not in KINDS:
        raise ValueError(f"schema {record['schema']!r} is unknown; known: {', '.join(KINDS)}")
    made: str = import_module(f"real.studies.{KINDS[record['schema']]}").markdown(record, plot)
    return made


def in_form(record: dict[str, Any], plot: str | None, form: Form) -> str:
    """Return the tables of a record of any kind in a form; only Markdown shows the picture, if there is one."""
    text = markdown(record, plot or "")
    if form == "markdown":
        lines = [line for line in text.splitlines() if plot is not None or not line.startswith("![")]
        return "\n".join(lines)
    blocks = [block for block in blocks_of(text) if not (isinstance(block, str) and block.startswith("!["))]
    return page(blocks, form)


def rows_of(record: dict[str, Any]) -> int:
    """How many rows a record holds."""
    return sum(len(run.get("rows", [])) + len(run.get("pairs", [])) for run in [record, *record.get("runs", [])])
