"""The tables and the plot of a comparison of draft schemes, from its record."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Group

from real.studies.columns import shown
from real.studies.compare.report import made_by
from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.report.text import aligned

SCHEMA = "specsim-drafts/1"
# Heading: (rule, scheme); rule "" is the optimum of the scheme.
COLUMNS = {
    "i.i.d., recursive rejection": ("recursive", "iid"),
    "i.i.d., optimal": ("optimal", "iid"),
    "without replacement, recursive rejection": ("recursive_wor", "without_replacement"),
    "without replacement, optimal (two)": ("optimal_wor", "without_replacement"),
    "distinct, optimal": ("optimal", "distinct"),
    "*optimum without replacement*": ("", "without_replacement"),
}
# Numbers of drafts that have a line in the table.
COMPARED = (2, 4, 8)


def point(group: dict[str, Any], rule: str, scheme: str, num_drafts: int) -> dict[str, Any] | None:
    """Return the entry of a rule (or an optimum) at one number of drafts, if it was computed."""
    key = (rule, scheme, num_drafts)
    return next((c for c in group["rows"] if (c["rule"], c["scheme"], c["num_drafts"]) == key), None)


def _cell(entry: dict[str, Any] | None) -> str:
    """Return an acceptance, with its error if four digits show it; empty without an entry."""
    if entry is None:
        return ""
    error = f" ±{entry['error']:.4f}" if entry["error"] > 5e-5 else ""
    return f"{entry['value']:.4f}{error}"


def numbers(group: dict[str, Any], num_drafts: int) -> str:
    """Return the mean and central 90 % of the number of distinct drafts, and the median number of draws."""
    entry = next(entry for entry in group["distinct"] if entry["num_drafts"] == num_drafts)
    cumulative = np.cumsum(entry["frequencies"])
    low, high = (int(np.searchsorted(cumulative, level)) for level in (0.05, 0.95))
    median_draws, _ = entry["draws_median_most"]
    return f"{entry['expected']:.2f} [{low}, {high}]; {median_draws:.0f}"


def lines(record: dict[str, Any]) -> list[list[str]]:
    """Return cells of the comparison at equal expected numbers of drafts: a line a group and number."""
    return [
        [group["name"], str(k), *(_cell(point(group, *key, k)) for key in COLUMNS.values()), numbers(group, k)]
        for group in record["runs"]
        for k in COMPARED
        if point(group, "optimal", "distinct", k)
    ]


HEAD = ["rows", "drafts", *COLUMNS, "tokens of `distinct`: mean [90 %]; median draws"]


def table(record: dict[str, Any]) -> Group:
    """Return the comparison for a terminal: a table a group of rows, with a column a number of drafts."""
    parts: list[str | None] = ["Acceptance at equal expected numbers of distinct drafts."]
    for group in record["runs"]:
        counts = [k for k in COMPARED if point(group, "optimal", "distinct", k)]
        if not counts:
            continue
        rows = [
            [name.replace("*", "").replace(", ", ",\n"), *(_cell(point(group, *key, k)) for k in counts)]
            for name, key in COLUMNS.items()
        ]
        rows.append(["tokens of distinct:\nmean [90 %]; draws", *(numbers(group, k) for k in counts)])
        parts.append(f"\n{group['name']}\n" + aligned([["", *(f"{k} drafts" for k in counts)], *rows]))
    return shown(*parts)


def markdown(record: dict[str, Any], plot: str) -> str:
    """Markdown of a record: the comparison, what it was computed on, and its plot."""
    provenance = record["provenance"]
    text = ["| " + " | ".join(HEAD) + " |", "| --- " * len(HEAD) + "|"]
    text += ["| " + " | ".join(cells) + " |" for cells in lines(record)]
    groups = "; ".join(f"{g['name']}: {g['positions']} positions, V = {g['vocab']}" for g in record["runs"])
    text += [
        "",
        f"Mean acceptance over positions ({groups}). Exact, except where ± stands: a 99 % interval where drafts were "
        f"sampled ({provenance['samples']} tuples a position, the hit probability of each exact), a bound on the "
        f"quadrature under *optimum without replacement*. `distinct` draws at most 1024. {made_by(record)}",
        "",
        f"![acceptance against number of drafts]({plot})",
    ]
    return "\n".join(text)


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG: all rules on the first group, and a panel a group with their gap to the optimum."""
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """Return the figure of `write_plot`; bars are the recorded errors."""
    # A panel with all rules on the first group, and one for each group.
    figure, (left, *gap_axes) = pictures.figure(10, 6.2, 2, 1 + len(record["runs"]) // 2)
    first = record["runs"][0]
    _draw_acceptances(left, first)
    for axis, group in zip(gap_axes, record["runs"], strict=False):
        _draw_gaps(axis, group)
    for axis in gap_axes[len(record["runs"]) :]:
        axis.set_visible(False)

    # A tick for each number of drafts.
    counts = sorted({entry["num_drafts"] for entry in first["rows"]})
    for axis, ticks in ((left, counts), *((axis, COMPARED) for axis in gap_axes)):
        axis.set_xticks(ticks, [str(k) for k in ticks])
        axis.minorticks_off()
        axis.grid(alpha=0.3)

    # The models, and what the bars are.
    provenance = record["provenance"]
    temperature = provenance["warping"]["temperature"]
    models = f"target: {provenance['target']}, draft: {provenance['draft']}, T = {temperature:g}"
    figure.suptitle(f"{models}; bars: 99 % where drafts were sampled", fontsize=9)
    return figure


def _draw_acceptances(axis: Any, group: dict[str, Any]) -> None:
    """Draw the acceptance of each rule and optimum of a group against the number of drafts."""
    # Rules first, then the optima, whose rule is "".
    names = {(entry["rule"], entry["scheme"]) for entry in group["rows"]}
    ends = []
    for i, (rule, scheme) in enumerate(sorted(names, key=lambda name: (name[0] == "", name))):
        if not rule and scheme not in ("iid", "without_replacement"):
            continue
        curve = [c for c in group["rows"] if (c["rule"], c["scheme"]) == (rule, scheme)]
        colour = f"C{i % 10}" if rule else "black"
        optimum_dashes = ":" if scheme == "iid" else "--"
        dashes, mark = ("-", "o") if rule else (optimum_dashes, None)
        axis.errorbar(
            [entry["num_drafts"] for entry in curve],
            [entry["value"] for entry in curve],
            [entry["error"] for entry in curve],
            fmt=dashes,
            marker=mark,
            color=colour,
            markersize=3,
            capsize=2,
        )
        # The name of the curve, and where it stops if that is early.
        last = max(curve, key=lambda entry: float(entry["num_drafts"]))
        stops = "" if last["num_drafts"] == 8 else f" (to {last['num_drafts']})"
        ends.append((last["value"], f"{rule or 'optimum'}, {scheme}{stops}", colour))
    axis.set(
        xlabel="number of drafts (expected, if distinct)",
        title=f"acceptance, {group['name']}",
        xscale="log",
    )
    pictures.label_ends(axis, ends)


def _draw_gaps(axis: Any, group: dict[str, Any]) -> None:
    """Draw how far rules of a group are above the optimum without replacement, in points."""
    ends = []
    for i, (rule, scheme) in enumerate(list(COLUMNS.values())[1:5]):
        # Gaps, and errors of both numbers, where both are recorded.
        counts, gaps, errors = [], [], []
        for k in COMPARED:
            entry = point(group, rule, scheme, k)
            optimum = point(group, "", "without_replacement", k)
            if entry and optimum:
                counts.append(k)
                gaps.append(100 * (entry["value"] - optimum["value"]))
                errors.append(100 * (entry["error"] + optimum["error"]))
        if gaps:
            axis.errorbar(
                counts,
                gaps,
                errors,
                fmt="-",
                color=f"C{i}",
                marker="o",
                markersize=3,
                capsize=2,
            )
            ends.append((gaps[-1], f"{rule}, {scheme}", f"C{i}"))
    axis.axhline(0, color="black", linewidth=0.8)
    axis.set(title=group["name"], xlabel="number of drafts", xscale="log")
    axis.set_ylabel("points above the optimum\nwithout replacement")
    pictures.label_ends(axis, ends)
