"""Output of a sweep: how many rows there are, or the result of SQL on them."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

from specsim.base import extras, parquet
from specsim.commands.json_form import json_answer
from specsim.commands.options import Form
from specsim.report.forms import table


class Outcome(NamedTuple):
    """The state at the end of a run: rows in the file, rows that this run made, rows of the study; seconds.

    `anew`: why this run made some rows again, in words; "" if it made none again.
    """

    rows: int
    new: int
    size: int
    seconds: float
    anew: str = ""

    @property
    def complete(self) -> bool:
        """Return whether every row is there."""
        return self.rows == self.size


def summary(out: Path, outcome: Outcome) -> str:
    """Return how many rows there are, how many are new and how fast; and how many are refused, and why the first."""
    if not outcome.rows:
        return "interrupted before the first rows were finished"
    rate = (
        f", {outcome.new} of them new: {outcome.seconds:.1f} s, {outcome.new / outcome.seconds:.0f} a second"
        if outcome.new
        else ""
    )
    lines = [*filter(None, [outcome.anew]), f"{out}: {outcome.rows} of {outcome.size} rows{rate}"]
    count, first = refused(out)
    if count:
        lines.append(f"{count} {'row is' if count == 1 else 'rows are'} refused (column `refused`), the first: {first}")
    if not outcome.complete:
        lines.append("interrupted; the same command carries on")
    return "\n".join(lines)


def refused(out: Path) -> tuple[int, str]:
    """Return how many rows have no outputs, and why the first of them has none."""
    reasons = [why for why in parquet.table(out, ["refused"]).column(0).to_pylist() if why]
    return len(reasons), reasons[0] if reasons else ""


def check_sql(sql: str, schema: Any) -> None:
    """Raise ValueError, in one line, unless the words are one query that tables of these columns answer."""
    _ask(sql, schema.empty_table())


def rows(out: Path, sql: str, form: Form) -> str:
    """Return the answer of a query on the rows of a file, as a table or as JSON; CSV has every digit."""
    parquet.marked(out)
    names, values = _ask(sql, parquet.table(out))
    if form == "json":
        objects = [dict(zip(names, map(_finite, row), strict=True)) for row in values]
        return json_answer("specsim/sweep-rows", {"rows": json.loads(json.dumps(objects, default=str))})
    digits = 17 if form == "csv" else 6
    return table([names, *([_cell(value, digits) for value in row] for row in values)], form)


def _ask(sql: str, contents: Any) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Return names and rows of a query over the table `rows`; it can read no file and no network."""
    # A database without extensions or access, whose settings the query cannot change.
    with extras.needed("--show"):
        import duckdb
    with duckdb.connect(config={"autoinstall_known_extensions": "false"}) as base:
        base.register("rows", contents)
        base.execute("set enable_external_access = false")
        base.execute("set lock_configuration = true")
        # One SELECT, and its answer.
        try:
            statements = duckdb.extract_statements(sql)
            if [statement.type for statement in statements] != [duckdb.StatementType.SELECT]:
                raise ValueError(f"show {sql!r:.60} must be one query, as: select max(speedup) from rows")
            answer = base.execute(sql)
            return [column[0] for column in answer.description], answer.fetchall()
        except duckdb.Error as error:
            raise ValueError(f"show {sql!r:.60}: {str(error).strip().splitlines()[0]}") from None


def _finite(value: Any) -> Any:
    """Return a value, None for NaN and infinity, which JSON does not have."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _cell(value: Any, digits: int) -> str:
    """Return a value as a cell of a table."""
    if value is None:
        return ""
    if isinstance(value, float):
        return repr(value) if digits == 17 else f"{value:.{digits}g}"
    if isinstance(value, list):
        return ", ".join(_cell(item, digits) for item in value)
    return str(value)
