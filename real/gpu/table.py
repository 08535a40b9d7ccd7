"""The records as Markdown; it has only numbers that were measured."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from real.gpu.book import read
from real.studies.compare.report import span

Record = dict[str, Any]
Rows = list[dict[str, Any]]
MISSING = "*not yet measured*"
NOTHING = "No run on a GPU has been recorded yet."
# Gammas in the table of shapes; the record has all of them.
_SHOWN = (1, 2, 4, 8, 16)


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
    """A part's line, its table and the rows that failed."""
    rows = [row for row in record["rows"] if "failed" not in row]
    failed = [
        f"- {how}: {row['key']}: {row[how]}" for row in record["rows"] for how in ("failed", "partial") if how in row
    ]
    blocks = [f"`{name}`: {_made(record)}", "\n".join(table(rows)), "\n".join(failed)]
    return "\n\n".join(block for block in blocks if block)


def _made(record: Record) -> str:
    """The day, machine and command of a record, and why it is not complete."""
    what = record["provenance"]
    gpu, used = what["gpu"], what["versions"]
    where = f"{gpu['name']} (driver {gpu['driver']})" if gpu else f"{what['machine']['processor']} (no GPU)"
    stopped = str(record.get("stopped"))
    why = {"budget": "its time was spent"}.get(stopped, stopped)
    part = "" if record["complete"] else f"; not finished ({why}): the rest is {MISSING}"
    tiny = ", tiny sizes: no measurement of any use" if what["tiny"] else ""
    return f"{what['date'][:10]}, {where}, torch {used['torch']}{tiny}: `{what['command']}`{part}."


def _table(head: list[str], rows: list[list[str]]) -> list[str]:
    """A table's lines; none without rows."""
    return [] if not rows else [_line(head), _line(["---"] * len(head)), *(_line(row) for row in rows)]


def _line(cells: list[str]) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def _parity(rows: Rows) -> list[str]:
    """Verdicts, with the smallest distance that a law test would see."""
    # Comparisons of tokens, and tests of a law.
    lines = []
    for row in rows:
        if "cases" in row:
            comparison = f"{row['tokens']} tokens in {row['cases']} cases, {len(row['different'])} differ"
            lines.append([row["key"], comparison, "", "passed" if row["passed"] else "**failed**"])
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
    return _table(["check", "found", "TV that is rejected almost surely", "verdict"], lines)


def _shapes(rows: Rows) -> list[str]:
    """A line for each setting: measured speedups with the predicted ones in brackets.

    A setting is a key without its last part, as of "50m/graphs/batch 8/gamma 4".
    """
    # Rows with a speedup and costs of a draft step, by setting.
    groups: dict[str, Rows] = defaultdict(list)
    steps: dict[str, float] = {}
    for row in rows:
        setting = row["key"].rpartition("/")[0]
        if "speedup" in row:
            groups[setting].append(row)
        if "costs" in row:
            steps[setting] = _draft_step(row["costs"])

    # A line for each setting: medians over its gammas, and speedups.
    lines = []
    for name, group in groups.items():
        by_gamma = {row["gamma"]: row for row in group}
        plain_ms = 1e3 * np.median([row["plain_s_measured"] for row in group])
        share = np.median([row["plain_read_share"] for row in group])
        outside = np.median([row["outside_models"] for row in group])
        cells = [_speed(by_gamma[g]["speedup"]) if g in by_gamma else "" for g in _SHOWN]
        step = f"{steps[name]:.2f}" if name in steps else MISSING
        lines.append([name, f"{plain_ms:.1f}", f"{share:.0%}", step, *cells, f"{outside:.0%}"])

    # Sentences on all settings and on the memory.
    summary = _overall([row for of_setting in groups.values() for row in of_setting]) if groups else []
    copied = [
        f"A copy moves {row['bytes_per_s'] / 1e9:.0f} GB/s, a sum reads {row['read_bytes_per_s'] / 1e9:.0f} GB/s."
        for row in rows
        if "bytes_per_s" in row
    ]
    head = ["draft, cycle, batch", "plain step, ms", "share of the bandwidth that a sum reads with"]
    head += ["draft step, in plain steps", *(f"gamma {g}" for g in _SHOWN), "share of a cycle outside the models"]
    sentences = [" ".join([*summary, *copied])] if summary or copied else []
    table = _table(head, lines)
    return [*sentences, "", *table] if sentences and table else sentences + table


def _draft_step(costs: dict[str, Any]) -> float:
    """The cost of one more draft in a cycle, in plain steps: the mean over the calibrated lengths."""
    gammas, cycles = costs["gammas"], costs["cycle_s"]
    return float((cycles[-1] - cycles[1]) / (gammas[-1] - gammas[1]) / cycles[0])


def _overall(rows: Rows) -> list[str]:
    """Sentences on the errors of predicted costs and speedups of all settings, and why they differ."""
    costs = [abs(_cycle_error(row)) for row in rows]
    speeds = [abs(row["speedup"]["error"]) for row in rows]
    fewest, most = (choose(row["cycles"] for row in rows) for choose in (min, max))
    return [
        f"Over {len(rows)} settings (every gamma from {min(row['gamma'] for row in rows)} to "
        f"{max(row['gamma'] for row in rows)}), the cost of a cycle in plain steps, predicted from a few short "
        f"lengths, has a median error of {np.median(costs):.1%} and at most {max(costs):.1%}.",
        f"The speedup's median error is {np.median(speeds):.1%}, at most {max(speeds):.1%}: each setting counts only "
        f"{fewest} to {most} blocks, so its mean number of tokens a block differs from the law's by chance.",
    ]


def _cycle_error(row: dict[str, Any]) -> float:
    """Predicted over measured cost of a cycle in plain steps, less 1: the error without the spread of tau."""
    predicted, measured = (row[f"cycle_s_{how}"] / row[f"plain_s_{how}"] for how in ("predicted", "measured"))
    return float(predicted / measured - 1)


def _speed(speedup: dict[str, float]) -> str:
    """The measured speedup, with the predicted one in brackets."""
    return f"{speedup['measured']:.2f} ({speedup['predicted']:.2f})"


def _pair(rows: Rows) -> list[str]:
    """Held-out losses, then predicted and measured tau and speedup."""
    losses = [row["nats_per_token"] for row in rows if "nats_per_token" in row]
    sentences = [f"Held-out loss {x['target']:.3f} (target), {x['draft']:.3f} (draft) nats per token." for x in losses]
    lines = [
        [row["key"], f"{row['tau']['measured']:.3f} ({row['tau']['predicted']:.3f})", _speed(row["speedup"])]
        for row in rows
        if "tau" in row
    ]
    table = _table(["cycle, gamma", "tau measured (predicted)", "speedup measured (predicted)"], lines)
    return [*sentences, "", *table] if sentences and table else sentences + table


def _rules(rows: Rows) -> list[str]:
    """A line for each rule and number of drafts, a column for each batch: microseconds of a call.

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
    how = "in a graph" if any("graph_us" in row for row in rows) else "eager"
    head = ["rule, drafts (family)", *(f"{batch}, microseconds {how}" for batch in batches)]

    # Lines; that of the softmax is left out if no step rule was measured.
    if softmax:
        times = {"one softmax": softmax} | times
    lines = []
    for name, by_batch in times.items():
        cells = [f"{by_batch[batch]:.0f}" if batch in by_batch else MISSING for batch in batches]
        lines.append([name, *cells])
    return _table(head, lines)


def _trees(rows: Rows) -> list[str]:
    """Sentences on parity and on t(m), then a line for each cycle (graphs or eager), tree and rule."""
    # Sentences on parity, passes and the fastest tree.
    sentences = _checked(rows)
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
    sentences += _best(rows)

    # A line for each cycle, tree and rule.
    lines = [
        [row["key"], str(len(row["parents"])), f"{row['tau']['measured']:.3f}", f"{1e3 * row['cycle_s']:.2f}",
         span(row["speedup"], 2)]
        for row in rows
        if "speedup" in row
    ]  # fmt: skip
    head = ["cycle, tree, rule", "nodes", "tokens a target call", "cycle, ms", "speedup (95 %)"]
    return [*(f"{line}\n" for line in sentences), *_table(head, lines)]


def _checked(rows: Rows) -> list[str]:
    """A sentence for each comparison with the CPU's tokens."""
    return [
        f"{row['key']}: {row['tokens']} tokens in {row['cases']} cases, {len(row['different'])} differ from the CPU's: "
        f"{'passed' if row['passed'] else '**failed**'}."
        for row in rows
        if "cases" in row
    ]


def _smollm2(rows: Rows) -> list[str]:
    """Parity, and a line for each temperature, batch and drafter: speedups with tau in brackets.

    Keys of rows are as "T=1/batch 8/ngram/gamma 4"; a line has a cell for each gamma.
    """
    # Cells by line and gamma, and the times of plain decoding, step by step and as graphs.
    lines: dict[str, dict[int, str]] = defaultdict(dict)
    plain: dict[str, list[str]] = {}
    for row in rows:
        if "speedup" in row:
            name, seconds = row["key"].rpartition("/")[0], (row["plain_token_s"], row["plain_graphs_token_s"])
            lines[name][row["gamma"]] = f"{row['speedup']['measured']:.2f} ({row['tau']['measured']:.2f})"
            plain[name] = [MISSING if second is None else f"{1000 * second:.2f}" for second in seconds]

    # The table, below a sentence on each comparison with the CPU.
    gammas = sorted({gamma for cells in lines.values() for gamma in cells})
    head = [
        "temperature, batch, drafter: speedup (tau)", *(f"gamma {gamma}" for gamma in gammas),
        "plain token, ms", "plain token as graphs, ms",
    ]  # fmt: skip
    table = [[name, *(cells.get(gamma, MISSING) for gamma in gammas), *plain[name]] for name, cells in lines.items()]
    return [*(f"{line}\n" for line in _checked(rows)), *_table(head, table)]


def _best(rows: Rows) -> list[str]:
    """The fastest chain beside the fastest tree, in a sentence."""
    timed = [row for row in rows if "speedup" in row]
    fastest = {
        is_tree: max((row for row in timed if row["tree"] == is_tree), key=lambda row: row["speedup"]["measured"])
        for is_tree in {row["tree"] for row in timed}
    }
    if len(fastest) < 2:
        return []
    names = {is_tree: f"{row['key']} ({row['speedup']['measured']:.2f})" for is_tree, row in fastest.items()}
    return [f"Fastest chain: {names[False]}; fastest tree: {names[True]}."]


TABLES: dict[str, Callable[[Rows], list[str]]] = {
    "parity": _parity, "shapes": _shapes, "pair": _pair, "rules": _rules, "trees": _trees,
    "smollm2": _smollm2,
}  # fmt: skip
