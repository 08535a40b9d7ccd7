"""Lines of Markdown tables, and cells that several tables have."""

from __future__ import annotations

from typing import Any

Rows = list[dict[str, Any]]
MISSING = "*not yet measured*"


def table_lines(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a table; none if it has no rows."""
    return [] if not rows else [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]


def _line(cells: list[str]) -> str:
    """Return one line of a table."""
    return f"| {' | '.join(cells)} |"


def below(sentences: list[str], table: list[str]) -> list[str]:
    """Return the lines of a table below sentences, with an empty line between them if there are both."""
    return [*sentences, "", *table] if sentences and table else sentences + table


def speedup_cell(row: dict[str, Any]) -> str:
    """Return the measured speedup of a row, with the predicted one in brackets."""
    speedup = row["speedup"]
    return f"{speedup['measured']:.2f} ({speedup['predicted']:.2f})"
