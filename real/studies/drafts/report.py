"""What a person sees of a comparison of draft schemes: tables, a plot, and the JSON record."""

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
COLUMNS = {  # heading: (rule, scheme); rule "" is the optimum of the scheme
    "i.i.d., recursive rejection": ("recursive", "iid"),
    "i.i.d., optimal": ("optimal", "iid"),
    "without replacement, recursive rejection": ("recursive_wor", "without_replacement"),
    "without replacement, optimal (two)": ("optimal_wor", "without_replacement"),
    "distinct, optimal": ("optimal", "distinct"),
    "*optimum without replacement*": ("", "without_replacement"),
}
COMPARED = (2, 4, 8)


def point(group: dict[str, Any], rule: str, scheme: str, num_drafts: int) -> dict[str, Any] | None:
    """The entry of a rule (or an optimum) at one number of drafts, if it was computed."""
    key = (rule, scheme, num_drafts)
    return next((c for c in group["rows"] if (c["rule"], c["scheme"], c["num_drafts"]) == key), None)


def _cell(found: dict[str, Any] | None) -> str:
    if found is None:
        return ""
    return f"{found['value']:.4f}" + (f" ±{found['error']:.4f}" if found["error"] > 5e-5 else "")


def numbers(group: dict[str, Any], num_drafts: int) -> str:
    """Mean number of distinct drafts, the central 90 % of its frequencies, and the median number of draws."""
    one = next(n for n in group["distinct"] if n["num_drafts"] == num_drafts)
    below = np.cumsum(one["frequencies"])
    low, high = (int(np.searchsorted(below, level)) for level in (0.05, 0.95))
    return f"{one['expected']:.2f} [{low}, {high}]; {one['draws_median_most'][0]:.0f}"


def lines(record: dict[str, Any]) -> list[list[str]]:
    """Cells of the comparison at equal expected numbers of distinct drafts, a line for each group and number."""
    return [
        [group["name"], str(k), *(_cell(point(group, *key, k)) for key in COLUMNS.values()), numbers(group, k)]
        for group in record["runs"]
        for k in COMPARED
        if point(group, "optimal", "distinct", k)
    ]


HEAD = ["rows", "drafts", *COLUMNS, "tokens of `distinct`: mean [90 %]; median draws"]


def table(record: dict[str, Any]) -> Group:
    """The comparison for a terminal: a table for each group of rows, with a column for each number of drafts."""
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
    what = record["provenance"]
    text = ["| " + " | ".join(HEAD) + " |", "| --- " * len(HEAD) + "|"]
    text += ["| " + " | ".join(cells) + " |" for cells in lines(record)]
    groups = "; ".join(f"{g['name']}: {g['positions']} positions, V = {g['vocab']}" for g in record["runs"])
    text += [
        "",
        f"Mean acceptance over positions ({groups}). Exact, except where ± stands: a 99 % interval where drafts were "
        f"sampled ({what['samples']} tuples a position, the hit probability of each exact), a bound on the quadrature "
        f"under *optimum without replacement*. `distinct` draws at most 1024. {made_by(record)}",
        "",
        f"![acceptance against number of drafts]({plot})",
    ]
    return "\n".join(text)


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """PNG: all rules on the first group, and a panel for each group of what is missing to the optimum."""
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """The figure of `write_plot`; bars are the recorded errors."""
    figure, (left, *others) = pictures.figure(10, 6.2, 2, 1 + len(record["runs"]) // 2)
    first = record["runs"][0]
    names = sorted({(c["rule"], c["scheme"]) for c in first["rows"]}, key=lambda name: (name[0] == "", name))
    ends = []
    for i, (rule, scheme) in enumerate(names):
        curve = [c for c in first["rows"] if (c["rule"], c["scheme"]) == (rule, scheme)]
        dashes = "-" if rule else ":" if scheme == "iid" else "--"
        if rule or scheme in ("iid", "without_replacement"):
            colour, name = f"C{i % 10}" if rule else "black", f"{rule or 'optimum'}, {scheme}"
            left.errorbar(
                [c["num_drafts"] for c in curve],
                [c["value"] for c in curve],
                [c["error"] for c in curve],
                fmt=dashes,
                marker="o" if rule else None,
                color=colour,
                markersize=3,
                capsize=2,
            )
            last = max(curve, key=lambda c: float(c["num_drafts"]))
            stops = "" if last["num_drafts"] == 8 else f" (to {last['num_drafts']})"
            ends.append((last["value"], name + stops, colour))
    left.set(xlabel="number of drafts (expected, if distinct)", title=f"acceptance, {first['name']}", xscale="log")
    pictures.label_ends(left, ends)
    rules = list(COLUMNS.values())[1:5]
    for axis, group in zip(others, record["runs"], strict=False):
        ends = []
        for i, (rule, scheme) in enumerate(rules):
            found = [(k, point(group, rule, scheme, k), point(group, "", "without_replacement", k)) for k in COMPARED]
            gaps = [
                (k, 100 * (a["value"] - b["value"]), 100 * (a["error"] + b["error"])) for k, a, b in found if a and b
            ]
            if gaps:
                axis.errorbar(*zip(*gaps, strict=True), fmt="-", color=f"C{i}", marker="o", markersize=3, capsize=2)
                ends.append((gaps[-1][1], f"{rule}, {scheme}", f"C{i}"))
        axis.axhline(0, color="black", linewidth=0.8)
        axis.set(title=group["name"], xlabel="number of drafts", xscale="log")
        axis.set_ylabel("points above the optimum\nwithout replacement")
        pictures.label_ends(axis, ends)
    for axis in others[len(record["runs"]) :]:
        axis.set_visible(False)
    counts = sorted({c["num_drafts"] for c in first["rows"]})
    for axis, ticks in ((left, counts), *((axis, COMPARED) for axis in others)):
        axis.set_xticks(ticks, [str(k) for k in ticks])
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    what = record["provenance"]
    models = f"target: {what['target']}, draft: {what['draft']}, T = {what['warping']['temperature']:g}"
    figure.suptitle(f"{models}; bars: 99 % where drafts were sampled", fontsize=9)
    return figure
