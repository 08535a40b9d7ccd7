"""What the records say, as Markdown; a number stands there only if it was measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from real.gpu.book import read

Record = dict[str, Any]
Rows = list[dict[str, Any]]
MISSING = "*not yet measured*"
NOTHING = "No run on a GPU has been recorded yet."
_SHOWN = (1, 2, 4, 8, 16)  # gammas in the table of shapes; all are in the record


def markdown(folder: str | Path) -> str:
    """Return the tables of the records in a folder as Markdown.

    Parameters
    ----------
    folder : str or Path
        Where `python -m real.gpu` wrote them.

    Returns
    -------
    str
        A line and a table for each part that has a record; one sentence if none has.
    """
    records = {name: read(Path(folder) / f"{name}.json") for name in TABLES}
    parts = [_part(name, TABLES[name], record) for name, record in records.items() if record is not None]
    return "\n\n".join(parts) or NOTHING


def _part(name: str, table: Callable[[Rows], list[str]], record: Record) -> str:
    rows = [row for row in record["rows"] if "failed" not in row]
    failed = [
        f"- {how}: {row['key']}: {row[how]}" for row in record["rows"] for how in ("failed", "partial") if how in row
    ]
    blocks = [f"`{name}`: {_made(record)}", "\n".join(table(rows)), "\n".join(failed)]
    return "\n\n".join(block for block in blocks if block)


def _made(record: Record) -> str:
    """Where and when a record was made, and whether it is whole."""
    what = record["provenance"]
    gpu, used = what["gpu"], what["versions"]
    where = f"{gpu['name']} (driver {gpu['driver']})" if gpu else f"{what['machine']['processor']} (no GPU)"
    part = "" if record["complete"] else f"; incomplete, {record['stopped']}: the rest {MISSING}"
    tiny = ", tiny sizes: no measurement of any use" if what["tiny"] else ""
    return f"{what['date'][:10]}, {where}, torch {used['torch']}{tiny}: `{what['command']}`{part}."


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    return [] if not rows else [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _parity(rows: Rows) -> list[str]:
    """Verdicts, with the smallest distance that a law test would have seen."""
    lines = []
    for row in rows:
        if "cases" in row:
            found = f"{row['tokens']} tokens in {row['cases']} cases, {len(row['different'])} differ"
            lines.append([row["key"], found, "", "passed" if row["passed"] else "**failed**"])
            continue
        verdict = row.get("passed", row.get("killed"))
        good = "rejected, as it must be" if "killed" in row else "passed"
        lines.append(
            [
                row["key"],
                f"{row['texts']} texts: TV {row['tv']:.4f}, threshold {row['threshold']:.4f}",
                f"{row['detectable_tv']:.4f}",
                good if verdict else "**failed**",
            ]
        )
    return _table(["check", "found", "smallest TV it would see", "verdict"], lines)


def _shapes(rows: Rows) -> list[str]:
    """A line for each setting: measured speedups with the predicted ones in brackets."""
    groups: dict[str, Rows] = defaultdict(list)
    for row in rows:
        if "speedup" in row:
            groups[row["key"].rpartition("/")[0]].append(row)
    lines = []
    for name, found in groups.items():
        by_gamma = {row["gamma"]: row for row in found}
        share = np.median([row["plain_read_share"] for row in found])
        error = np.median([abs(row["speedup"]["error"]) for row in found])
        outside = np.median([row["outside_models"] for row in found])
        cells = [_speed(by_gamma[g]["speedup"]) if g in by_gamma else "" for g in _SHOWN]
        lines.append([name, f"{share:.0%}", *cells, f"{error:.1%}", f"{outside:.0%}"])
    copied = [
        f"A copy moves {row['bytes_per_s'] / 1e9:.0f} GB/s, a sum reads {row['read_bytes_per_s'] / 1e9:.0f} GB/s."
        for row in rows
        if "bytes_per_s" in row
    ]
    head = ["draft, cycle, batch", "plain decoding: share of the read bandwidth", *(f"gamma {g}" for g in _SHOWN)]
    table = _table([*head, "median error", "outside the models"], lines)
    return [*copied, "", *table] if copied and table else copied + table


def _speed(speedup: dict[str, float]) -> str:
    return f"{speedup['measured']:.2f} ({speedup['predicted']:.2f})"


def _pair(rows: Rows) -> list[str]:
    """Held-out losses, then predicted and measured tau and speedup."""
    losses = [row["nats_per_token"] for row in rows if "nats_per_token" in row]
    said = [f"Held-out loss {x['target']:.3f} (target), {x['draft']:.3f} (draft) nats per token." for x in losses]
    lines = [
        [row["key"], f"{row['tau']['measured']:.3f} ({row['tau']['predicted']:.3f})", _speed(row["speedup"])]
        for row in rows
        if "tau" in row
    ]
    table = _table(["cycle, gamma", "tau measured (predicted)", "speedup measured (predicted)"], lines)
    return [*said, "", *table] if said and table else said + table


def _rules(rows: Rows) -> list[str]:
    """Microseconds of a call; on a GPU, of a replayed graph after the stroke."""
    lines = [
        [
            row["key"],
            f"{row['us']:.0f}" + (f" / {row['graph_us']:.0f}" if "graph_us" in row else ""),
            f"{row['softmax_us']:.0f}",
        ]
        for row in rows
    ]
    return _table(["rule, rows, drafts", "microseconds a call (/ in a graph)", "one softmax"], lines)


def _trees(rows: Rows) -> list[str]:
    """Parity, a line for each entry with graphs and eager cycles, and t(m)."""
    checked = [row for row in rows if "cases" in row]
    said = [
        f"{row['key']}: {row['tokens']} tokens in {row['cases']} cases, {len(row['different'])} differ from the CPU's: "
        f"{'passed' if row['passed'] else '**failed**'}."
        for row in checked
    ]
    passes = [
        f"t({row['tokens']}) = {row['plain_steps']:.2f} ({row['chain_plain_steps']:.2f})"
        for row in rows
        if "plain_steps" in row
    ]
    if passes:
        said.append(f"A target pass over a tree of m rows (m tokens in a row), in plain steps: {', '.join(passes)}.")
    lines = [
        [row["key"], str(len(row["parents"])), f"{row['tau']['measured']:.3f}", f"{1e3 * row['cycle_s']:.2f}",
         f"{row['speedup']['measured']:.2f}"]
        for row in rows
        if "speedup" in row
    ]  # fmt: skip
    table = _table(["cycle, tree, rule", "nodes", "tau", "cycle, ms", "speedup"], lines)
    return [*(f"{line}\n" for line in said), *table]


TABLES: dict[str, Callable[[Rows], list[str]]] = {
    "parity": _parity, "shapes": _shapes, "pair": _pair, "rules": _rules, "trees": _trees
}  # fmt: skip
