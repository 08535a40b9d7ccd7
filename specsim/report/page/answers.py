"""Answer in a sentence what a record was made for; it stands at the top of the record's page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import median

from specsim.report.page.records import Record
from specsim.report.page.rows import Row, accepted, compared, trees


def answers(record: Record) -> Iterator[str]:
    """Yield what a record answers, a sentence for each of its parts; nothing for the rows of a sweep."""
    held = record.held
    if record.kind == "plan":
        yield str(held["sentence"])
    elif record.kind == "simulate":
        tau = held["tau"]
        interval = "" if tau["low"] is None else f" [{tau['low']:.3f}, {tau['high']:.3f}]"
        yield f"A target call emits {tau['value']:.3f}{interval} tokens, simulated over {held['blocks']} blocks."
    elif record.kind in ("compare", "chains", "compare trees"):
        yield from _fastest(_speedups(record))
    elif record.kind == "forced":
        yield from _error(_speedups(record))
    elif record.kind == "drafts":
        for name, rows in _by_run(record, list(accepted(record))):
            yield f"{name}: {_most_accepted(rows)}"
    elif record.kind == "trees":
        for name, rows in _by_run(record, list(trees(record))):
            yield f"{name}: {_most_tokens(rows)}"
    elif record.kind == "system":
        yield f"The claim of the paper, on these models: {held['verdict']}."


def _speedups(record: Record) -> list[Row]:
    """Return the rows of a record that hold speedups, predicted and measured."""
    return [row for row in compared(record) if row["quantity"] == "speedup"]


def _fastest(rows: Sequence[Row]) -> Iterator[str]:
    """Yield which row was measured fastest, if there is any."""
    if rows:
        best = max(rows, key=lambda row: float(row["measured"]))
        yield (
            f"Measured fastest: {best['what']}, {best['measured']:.2f} times plain decoding; "
            f"predicted {best['predicted']:.2f} times."
        )


def _error(rows: Sequence[Row]) -> Iterator[str]:
    """Yield how far predicted speedups are from measured ones, if there are any."""
    if rows:
        errors = [abs(row["predicted"] / row["measured"] - 1) for row in rows]
        yield (
            f"Predicted speedups are off by {median(errors):.1%} in the median of {len(errors)} settings, "
            f"and by {max(errors):.1%} at most."
        )


def _most_accepted(rows: Sequence[Row]) -> str:
    """Return which rule accepts most with as many drafts as were tried."""
    drafts = max(row["drafts"] for row in rows)
    best = max((row for row in rows if row["drafts"] == drafts and not row["optimum"]), key=lambda row: row["value"])
    words = "1 draft" if drafts == 1 else f"{drafts} drafts"
    return f"with {words} a position, {best['rule']} accepts most, with probability {best['value']:.3f}."


def _most_tokens(rows: Sequence[Row]) -> str:
    """Return which rule on which trees emits most tokens at the largest budget."""
    nodes = max(row["nodes"] for row in rows)
    best = max((row for row in rows if row["nodes"] == nodes), key=lambda row: row["tau"])
    return f"with {nodes} nodes, {best['rule']} emits most, {best['tau']:.3f} tokens per target call."


def _by_run(record: Record, rows: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the name and the rows of each run, in the order of the record; a panel is named by both."""
    for panel in dict.fromkeys(row["panel"] for row in rows):
        yield panel.removeprefix(f"{record.name}: "), [row for row in rows if row["panel"] == panel]
