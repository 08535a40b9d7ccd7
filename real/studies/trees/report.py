"""The tables and the plot of a comparison of trees at equal node budgets, from its record."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import Any

from rich.console import Group

from real.studies.columns import shown
from real.studies.compare.report import made_by
from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.report.text import aligned

# Trees that no draft can know.
ORACLE = "likeliest texts of the target"
SCHEMA = "specsim-trees/1"
# Other names of rules: on a single path traversal is block verification.
NAMES = {("chain", "traversal"): "block"}
# A tree with fewer nodes than this fraction of the budget has their number in its cell.
FEW = 0.9
# Budgets side by side in a terminal, and characters of a shape's lines.
SHOWN, WIDTH = 3, 14
# Lines of the plot: topology and rule -> style.
PLOTTED = {
    ("chain", "tokenwise"): "C7:", ("chain", "traversal"): "C7-",
    ("i.i.d. paths", "multipath_block"): "C0-", ("i.i.d. paths", "lifted, optimal"): "C1-",
    ("RSD-C", "traversal"): "C2--", ("RSD-S", "tokenwise, recursive_wor"): "C3:", ("RSD-S", "traversal"): "C3--",
    ("Sequoia", "tokenwise, recursive_wor"): "C4:", ("Sequoia", "traversal"): "C4--",
    ("k-ary, distinct", "lifted, optimal"): "C5-", ("EAGLE-2", "target_only"): "C8:",
    (ORACLE, "target_only"): "k--",
}  # fmt: skip


def row_of(run: dict[str, Any], topology: str, rule: str, budget: int) -> dict[str, Any] | None:
    """Return the row of a topology, rule and budget in a group; None if it was not measured."""
    key = (topology, rule, budget)
    matches = (row for row in run["rows"] if (row["topology"], row["rule"], row["budget"]) == key)
    return next(matches, None)


def budgets(record: dict[str, Any]) -> list[int]:
    """Return the budgets of a record, in order."""
    return sorted({row["budget"] for run in record["runs"] for row in run["rows"]})


def leading(run: dict[str, Any], budget: int) -> list[dict[str, Any]]:
    """Return the row with the largest tau, and the rows whose interval meets its interval.

    Trees that no draft can know are left out.
    """
    rows = [row for row in run["rows"] if row["budget"] == budget and row["topology"] != ORACLE]
    best = max(rows, key=lambda row: float(row["tau"]))
    best_low, _ = _interval(best)
    rows_that_meet_it = []
    for row in rows:
        _, high = _interval(row)
        if high >= best_low:
            rows_that_meet_it.append(row)
    return rows_that_meet_it


def _interval(row: dict[str, Any]) -> list[float]:
    """Return the interval of a row's tau, which is a point where tau is exact."""
    return row["interval"] or [row["tau"], row["tau"]]


def _cell(run: dict[str, Any], row: dict[str, Any] | None) -> str:
    """Return tau of a row, bold if it leads, with the shape that was chosen; empty without a row.

    A tree that leaves much of the budget unused has its nodes beside the shape:
    "**2.415 ±0.012** (1^3; 14.2 nodes)".
    """
    if row is None:
        return ""

    # Remarks: the shape if it was chosen among several, and the nodes if they are few.
    remarks = []
    if len(row["shapes_tried"]) > 1:
        remarks.append(row["shape"])
    if row["nodes"] < FEW * row["budget"]:
        remarks.append(f"{row['nodes']:.1f} nodes")
    brackets = f" ({'; '.join(remarks)})" if remarks else ""

    # tau with half the width of its interval.
    number = _number(row["tau"], row["interval"])
    if row in leading(run, row["budget"]):
        number = f"**{number}**"
    return number + brackets


def _number(value: float, interval: list[float] | None) -> str:
    """Return a number with half the width of its interval [low, high]; exact numbers have none."""
    if not interval:
        return f"{value:.3f}"
    low, high = interval
    return f"{value:.3f} ±{(high - low) / 2:.3f}"


def _bound_cell(run: dict[str, Any], topology: str, budget: int) -> str:
    """Return the full-information bound on tau, in italics; "" where no row has one.

    Each row of this topology and budget has a bound for its own trees and contexts. That of the row
    with the largest tau is shown.
    """
    key = (topology, budget)
    rows = [row for row in run["rows"] if (row["topology"], row["budget"]) == key and row["bound"]]
    if not rows:
        return ""
    best = max(rows, key=lambda row: float(row["tau"]))
    value, low, high = best["bound"]
    return f"*{_number(value, [low, high])}*"


def lines(record: dict[str, Any]) -> list[list[str]]:
    """Return the cells of the table: for each kind of trees a line a rule, then the bound on all rules."""
    # All runs have the rules of the first one, in its order.
    table_lines, first_run = [], record["runs"][0]
    columns = [(run, n) for run in record["runs"] for n in budgets(record)]
    for topology in dict.fromkeys(row["topology"] for row in first_run["rows"]):
        # A line for each rule.
        rows = [row for row in first_run["rows"] if row["topology"] == topology]
        for rule, lossless in dict.fromkeys((row["rule"], row["lossless"]) for row in rows):
            cells = [_cell(run, row_of(run, topology, rule, n)) for run, n in columns]
            name = _quoted(NAMES.get((topology, rule), rule))
            table_lines.append([topology, name, "yes" if lossless else "no", *cells])

        # A line for the bound, where it is known.
        bounds = [_bound_cell(run, topology, n) for run, n in columns]
        if any(bounds):
            table_lines.append([topology, "*full information*", "", *bounds])
    return table_lines


def _quoted(name: str) -> str:
    """Return the name of a rule in Markdown, "lifted, optimal" as "`lifted` of `optimal`"."""
    return " of ".join(f"`{part}`" for part in name.split(", "))


def head(record: dict[str, Any]) -> list[str]:
    """Return the names of the columns."""
    sizes = budgets(record)
    columns = [f"{run['name']}: {n} nodes" for run in record["runs"] for n in sizes]
    return ["trees", "rule", "lossless", *columns]


def table(record: dict[str, Any]) -> Group:
    """Return the comparison for a terminal: tables of a few budgets each, for each pair of models."""
    sizes = budgets(record)
    parts: list[str | None] = ["Tau at equal node budgets. ± is a 99 % interval over texts; shapes stand below."]
    for i, run in enumerate(record["runs"]):
        for first in range(0, len(sizes), SHOWN):
            head = ["trees,\nrule", *(f"{n} nodes" for n in sizes[first : first + SHOWN])]
            # Three cells name a line; after them come those of these models and budgets.
            start = i * len(sizes)
            columns = slice(start + first, start + min(first + SHOWN, len(sizes)))
            rows = []
            for topology, rule, lossless, *cells in lines(record):
                rows.append([_label(topology, rule, lossless), *map(_stacked, cells[columns])])
            parts.append(f"\n{run['name']}\n" + aligned([head, *rows]))
    return shown(*parts)


def _label(topology: str, rule: str, lossless: str) -> str:
    """Return topology, then the rule and whether it is lossy, on lines of their own."""
    name = rule.replace("`", "").replace("*", "")
    return f"{topology}\n  {name}" + ("\n  (lossy)" if lossless == "no" else "")


def _stacked(cell: str) -> str:
    """Return the number of a cell, and below it what stands in brackets, in short lines."""
    number, _, shape = cell.replace("*", "").partition(" (")
    return "\n".join([number, *textwrap.wrap(f"({shape}", WIDTH)] if shape else [number])


def markdown(record: dict[str, Any], plot: str) -> str:
    """Return Markdown of a record: the comparison, the models that it was computed on, and its plot."""
    # The table, then a paragraph that explains it.
    provenance, names = record["provenance"], head(record)
    text = ["| " + " | ".join(names) + " |", "| --- " * len(names) + "|"]
    text += ["| " + " | ".join(cells) + " |" for cells in lines(record)]
    text += [
        "",
        f"Tokens per target call over the first {provenance['blocks']} blocks of {provenance['sequences']} texts; ±"
        " is a 99 % interval over texts, which start evenly spaced in recorded rows (trees are drawn, what a rule "
        "keeps of each is summed exactly; `greedy_block` is simulated in full); numbers without one are exact. In "
        "brackets the shape, chosen among a few in a shorter run of its own: children by depth (1^3: three levels "
        "of one child). Bold is the largest tau that a draft can reach, and what its interval does not tell apart."
        " The budget is on different texts that the target reads, on average where equal siblings make it random, "
        "and what shapes leave "
        f"unused of it is lost: nodes stand in brackets where they are under {100 * FEW:.0f} % of it. "
        "*Full information* bounds every lossless rule on the trees of the best line above it, in the contexts where "
        "that started its blocks. " + " ".join(run["what"] for run in record["runs"]) + " " + made_by(record),
        "",
        f"![tau against node budget]({plot})",
    ]  # fmt: skip
    return "\n".join(text)


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG: tau against the budget, a panel for each pair; bars are the intervals."""
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """Return the figure of `write_plot`; each line is named at its end."""
    figure, axes = pictures.figure(10, 3.8, len(record["runs"]))
    sizes = budgets(record)
    for axis, run in zip(axes, record["runs"], strict=True):
        # A line for each rule, with the halves of its intervals.
        ends = []
        for (topology, rule), style in PLOTTED.items():
            rows = [row for n in sizes if (row := row_of(run, topology, rule, n))]
            taus = [row["tau"] for row in rows]
            intervals = [_interval(row) for row in rows]
            axis.errorbar(
                [row["budget"] for row in rows],
                taus,
                [(high - low) / 2 for low, high in intervals],
                fmt=style,
                marker="o",
                markersize=3,
                capsize=2,
            )
            label = f"{topology}: {NAMES.get((topology, rule), rule)}"
            if rows:
                ends.append((taus[-1], label, axis.lines[-1].get_color()))

        # Axes with a tick for each budget.
        axis.set(xlabel="nodes of the tree", ylabel="tau, tokens per target call", xscale="log")
        axis.set_title(run["name"], fontsize=10)
        axis.set_xticks(sizes, [str(n) for n in sizes])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
        pictures.label_ends(axis, ends)
    provenance = record["provenance"]
    warping = provenance["warping"]
    models = f"target: {provenance['target']}, draft: {provenance['draft']}, T = {warping['temperature']:g}"
    figure.suptitle(f"{models}, top-k {warping['top_k']}; bars: 99 %", fontsize=9)
    return figure
