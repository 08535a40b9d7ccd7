"""The records as Markdown tables; every number in them was measured.

The keys of a row and their units are described in `real/results/README.md`. The kind of a row
follows from a key that no other kind has: "speedup" (a timing of drafts), "cases" (a comparison of
tokens with the CPU's), "costs" (a calibration), "plain_steps" (a pass alone).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from real.gpu.book import read
from real.gpu.lines import MISSING, Rows, below, speedup_cell, table_lines
from real.gpu.shapes_table import shapes_lines
from real.studies.compare.report import span

Record = dict[str, Any]
NOTHING = "No run on a GPU has been recorded yet."


def markdown(folder: str | Path) -> str:
    """Return the tables of the records in a folder as Markdown.

    Parameters
    ----------
    folder : str or Path
        Where `python -m real.gpu` wrote the records.

    Returns
    -------
    str
        A line and a table for each part that has a record; one sentence if none has.
    """
    records = {name: read(Path(folder) / f"{name}.json") for name in TABLES}
    parts = [_part(name, TABLES[name], record) for name, record in records.items() if record is not None]
    return "\n\n".join(parts) or NOTHING


def _part(name: str, table: Callable[[Rows], list[str]], record: Record) -> str:
    """Return the text of a part: its origin, its table, and a list of the rows that failed or are partial."""
    measured_rows = [row for row in record["rows"] if "failed" not in row]
    failures = [
        f"- {state}: {row['key']}: {row[state]}"
        for row in record["rows"]
        for state in ("failed", "partial")
        if state in row
    ]
    blocks = [f"`{name}`: {_origin(record)}", "\n".join(table(measured_rows)), "\n".join(failures)]
    return "\n\n".join(block for block in blocks if block)


def _origin(record: Record) -> str:
    """Return the day, machine and command of a record, and why it is not complete if so."""
    # The machine, and whether its numbers mean anything.
    provenance = record["provenance"]
    gpu, torch_version = provenance["gpu"], provenance["versions"]["torch"]
    machine = f"{gpu['name']} (driver {gpu['driver']})" if gpu else f"{provenance['machine']['processor']} (no GPU)"
    tiny = ", tiny sizes: no measurement of any use" if provenance["tiny"] else ""

    # Why rows are missing, if they are.
    stopped = str(record.get("stopped"))
    reason = "its time was spent" if stopped == "budget" else stopped
    missing = "" if record["complete"] else f"; not finished ({reason}): the rest is {MISSING}"
    day = provenance["date"][:10]
    return f"{day}, {machine}, torch {torch_version}{tiny}: `{provenance['command']}`{missing}."


def _parity(rows: Rows) -> list[str]:
    """Return a table with the verdict of each check."""
    # Comparisons of tokens with the CPU's, and tests of a law. A law test also has the smallest
    # distance that it would reject. A planted fault has `killed` in place of `passed`.
    lines = []
    for row in rows:
        if "cases" in row:
            comparison = f"{row['tokens']} tokens in {row['cases']} cases, {len(row['different'])} differ"
            lines.append([row["key"], comparison, "", "passed" if row["passed"] else "**failed**"])
            continue
        is_good = row.get("passed", row.get("killed"))
        good = "rejected, as it must be" if "killed" in row else "passed"
        lines.append(
            [
                row["key"],
                f"{row['texts']} texts: TV {row['tv']:.4f}, threshold {row['threshold']:.4f}",
                f"{row['detectable_tv']:.4f}",
                good if is_good else "**failed**",
            ]
        )
    return table_lines(["check", "found", "TV that is rejected almost surely", "verdict"], lines)


def _pair(rows: Rows) -> list[str]:
    """Return a table of predicted and measured tau and speedup, below sentences on held-out losses."""
    losses = [row["nats_per_token"] for row in rows if "nats_per_token" in row]
    sentences = [
        f"Held-out loss {loss['target']:.3f} (target), {loss['draft']:.3f} (draft) nats per token." for loss in losses
    ]
    lines = [
        [row["key"], f"{row['tau']['measured']:.3f} ({row['tau']['predicted']:.3f})", speedup_cell(row)]
        for row in rows
        if "tau" in row
    ]
    head = ["cycle, gamma", "tau measured (predicted)", "speedup measured (predicted)"]
    return below(sentences, table_lines(head, lines))


def _rules(rows: Rows) -> list[str]:
    """Return a table of microseconds of a call: a line for each rule and number of drafts, a column for each batch.

    Keys of rows are as "step/rejection/batch 8/K 4". The first line is the softmax of a step rule's
    rows, since that of a chain rule has more rows.
    """
    # Times (line -> batch -> microseconds). On a GPU those of a replayed graph are shown: eager
    # calls only wait for Python.
    times: dict[str, dict[str, float]] = defaultdict(dict)
    softmax: dict[str, float] = {}
    for row in rows:
        family, rule, batch, drafts = row["key"].split("/")
        times[f"{rule}, {drafts} ({family})"][batch] = row["graph_us" if "graph_us" in row else "us"]
        if family == "step":
            softmax.setdefault(batch, float(row["softmax_us"]))

    # Columns by size: "batch 8" before "batch 64".
    names = {batch for by_batch in times.values() for batch in by_batch}
    batches = sorted(names, key=lambda name: int(name.split()[1]))
    mode = "in a graph" if any("graph_us" in row for row in rows) else "eager"
    head = ["rule, drafts (family)", *(f"{batch}, microseconds {mode}" for batch in batches)]

    # Lines; that of the softmax is left out if no step rule was measured.
    if softmax:
        times = {"one softmax": softmax} | times
    lines = []
    for name, by_batch in times.items():
        cells = [f"{by_batch[batch]:.0f}" if batch in by_batch else MISSING for batch in batches]
        lines.append([name, *cells])
    return table_lines(head, lines)


def _trees(rows: Rows) -> list[str]:
    """Return a table with a line for each cycle (graphs or eager), tree and rule, below sentences on the rest."""
    # Sentences on parity, passes and the fastest tree.
    sentences = _parity_sentences(rows)
    passes = [
        f"t({row['tokens']}) = {row['plain_steps']:.2f} ({row['chain_plain_steps']:.2f})"
        for row in rows
        if "plain_steps" in row
    ]
    if passes:
        sentences.append(
            "A pass of the target over the m nodes of a tree takes t(m) plain steps (in brackets: over m tokens in a "
            f"row): {', '.join(passes)}."
        )
    sentences += _fastest_sentence(rows)

    # A line for each cycle, tree and rule.
    lines = [
        [row["key"], str(len(row["parents"])), f"{row['tau']['measured']:.3f}", f"{1e3 * row['cycle_s']:.2f}",
         span(row["speedup"], 2)]
        for row in rows
        if "speedup" in row
    ]  # fmt: skip
    head = ["cycle, tree, rule", "nodes", "tokens a target call", "cycle, ms", "speedup (95 %)"]
    return [*(f"{line}\n" for line in sentences), *table_lines(head, lines)]


def _parity_sentences(rows: Rows) -> list[str]:
    """Return a sentence for each comparison with the CPU's tokens."""
    return [
        f"{row['key']}: {row['tokens']} tokens in {row['cases']} cases, {len(row['different'])} differ from the CPU's: "
        f"{'passed' if row['passed'] else '**failed**'}."
        for row in rows
        if "cases" in row
    ]


def _smollm2(rows: Rows) -> list[str]:
    """Return a table of speedups with tau in brackets, below sentences on parity.

    Keys of rows are as "T=1/batch 8/ngram/gamma 4". A line has a cell for each gamma: it is named
    by a key without its last part.
    """
    # For each line its cells by gamma, and the milliseconds of plain decoding: step by step, as
    # graphs.
    cells: dict[str, dict[int, str]] = defaultdict(dict)
    plain_ms: dict[str, list[str]] = {}
    for row in rows:
        if "speedup" in row:
            name, _, _ = row["key"].rpartition("/")
            cells[name][row["gamma"]] = f"{row['speedup']['measured']:.2f} ({row['tau']['measured']:.2f})"
            seconds = (row["plain_token_s"], row["plain_graphs_token_s"])
            plain_ms[name] = [MISSING if s is None else f"{1000 * s:.2f}" for s in seconds]

    # The table, below a sentence on each comparison with the CPU.
    gammas = sorted({gamma for by_gamma in cells.values() for gamma in by_gamma})
    head = [
        "temperature, batch, drafter: speedup (tau)", *(f"gamma {gamma}" for gamma in gammas),
        "plain token, ms", "plain token as graphs, ms",
    ]  # fmt: skip
    lines = [
        [name, *(by_gamma.get(gamma, MISSING) for gamma in gammas), *plain_ms[name]] for name, by_gamma in cells.items()
    ]
    return [*(f"{sentence}\n" for sentence in _parity_sentences(rows)), *table_lines(head, lines)]


def _fastest_sentence(rows: Rows) -> list[str]:
    """Return one sentence on the fastest chain and the fastest tree; none if one of the two was not timed."""
    timed = [row for row in rows if "speedup" in row]
    names = {}
    for is_tree in (False, True):
        candidates = [row for row in timed if row["tree"] == is_tree]
        if not candidates:
            return []
        fastest = max(candidates, key=lambda row: float(row["speedup"]["measured"]))
        names[is_tree] = f"{fastest['key']} ({fastest['speedup']['measured']:.2f})"
    return [f"Fastest chain: {names[False]}; fastest tree: {names[True]}."]


TABLES: dict[str, Callable[[Rows], list[str]]] = {
    "parity": _parity, "shapes": shapes_lines, "pair": _pair, "rules": _rules, "trees": _trees,
    "smollm2": _smollm2,
}  # fmt: skip
