"""The table and the plot of a run under forced acceptance, and its rows as JSON."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Group

from real.studies.columns import shown
from real.studies.compare import answer
from real.studies.compare.report import errors, hardware, made_by, target_name
from specsim.base.files import write_bytes
from specsim.report import figure as pictures
from specsim.report.text import aligned

if TYPE_CHECKING:
    from real.studies.forced.measure import Timing

SCHEMA = "specsim-forced/1"
# Styles of lines and marks, by which settings are told apart where colours are not seen.
DASHES, MARKS = ("-", "--", "-.", ":"), ("o", "s", "^", "D")
HEAD = ["gamma", "tau", "cycle, ms\npredicted", "\nmeasured", "speedup\npredicted", "\nmeasured", "\nerror"]


def as_json(timing: Timing) -> dict[str, Any]:
    """Return the JSON form of a row; see real/results/README.md for the schema."""
    return asdict(timing) | {
        "speedup": {
            "predicted": timing.speedup_predicted,
            "measured": timing.speedup_measured,
            "error": timing.error,
        }
    }


def summary(record: dict[str, Any]) -> str:
    """Return words on the median errors over all settings."""
    speeds = [(r["gamma"], r["speedup"]) for run in record["runs"] for r in run["rows"]]
    return errors(speeds, record["provenance"]["calibrated"])


def _name(run: dict[str, Any]) -> str:
    """Return the name of a setting."""
    return f"batch {run['batch']}, context {run['context']}"


def table(record: dict[str, Any]) -> Group:
    """Return predicted beside measured speedup: a table for each setting, with a line for each gamma."""
    runs = [run for run in record["runs"] if run["rows"]]
    return shown(
        f"Forced acceptance: {summary(record)}.",
        answer.restless(runs),
        *(f"\n{_name(run)}\n{aligned([HEAD, *(_cells(row) for row in run['rows'])])}" for run in runs),
    )


def _cells(row: dict[str, Any]) -> list[str]:
    """Return the cells of a gamma's line, as `HEAD` names them."""
    speed = row["speedup"]
    return [
        str(row["gamma"]),
        f"{row['tau_predicted']:.2f}",
        f"{row['cycle_s_predicted'] * 1e3:.1f}",
        f"{row['cycle_s_measured'] * 1e3:.1f}",
        f"{speed['predicted']:.2f}",
        f"{speed['measured']:.2f}",
        f"{speed['error']:+.1%}",
    ]


def markdown(record: dict[str, Any], plot: str) -> str:
    """Return the Markdown table of a record: predicted and measured speedup of each setting, by gamma."""
    # Three columns for each setting, a line for each gamma.
    runs, provenance = [run for run in record["runs"] if run["rows"]], record["provenance"]
    if not runs:
        return "No setting was finished."
    head = "".join(f" {_name(run)}: predicted | measured | error |" for run in runs)
    lines = [f"| gamma | tau, exact |{head}", "| --- " * (2 + 3 * len(runs)) + "|"]
    for k, first in enumerate(runs[0]["rows"]):
        speedups = [run["rows"][k]["speedup"] for run in runs if k < len(run["rows"])]
        cells = [
            f"{speedup['predicted']:.2f} | {speedup['measured']:.2f} | {speedup['error']:+.1%}" for speedup in speedups
        ]
        start = f"| {first['gamma']} | {first['tau_predicted']:.3f} | "
        lines.append(start + " | ".join(cells) + " |")

    # The models, and where the plot is.
    calibrated = ", ".join(map(str, provenance["calibrated"]))
    lines += [
        "",
        f"Random weights shaped {target_name(provenance)} (target) and {provenance['draft']} (draft), every draft "
        f"kept with probability {provenance['alpha']:g}. "
        f"Cycles timed at gamma {calibrated} only; "
        f"{summary(record)}. {made_by(record)}",
        "",
        f"![predicted and measured under forced acceptance]({plot})",
    ]
    return "\n".join(lines)


def write_plot(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG of speedup against gamma: predictions as lines, measurements as dots."""
    write_bytes(path, pictures.as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """Return the figure of `write_plot`."""
    figure, (axis,) = pictures.figure(7, 3.8)
    for i, run in enumerate(record["runs"]):
        gammas = [r["gamma"] for r in run["rows"]]
        # Predictions as a line, measurements as marks, and both in the legend.
        dashes, mark = DASHES[i % len(DASHES)], MARKS[i % len(MARKS)]
        predicted = [r["speedup"]["predicted"] for r in run["rows"]]
        axis.plot(gammas, predicted, dashes, color=f"C{i}")
        axis.plot(gammas, [r["speedup"]["measured"] for r in run["rows"]], mark, color=f"C{i}")
        axis.plot([], [], dashes, marker=mark, color=f"C{i}", label=_name(run))
    axis.axhline(1, color="black", linewidth=0.8)
    provenance = record["provenance"]
    models = f"{target_name(provenance)} (target) and {provenance['draft']} (draft)"
    title = f"shapes of {models}, alpha = {provenance['alpha']:g} forced"
    axis.set_title(f"{title}\n{hardware(provenance)}", fontsize=9)
    axis.set(xlabel="gamma (drafts per block)", ylabel="speedup")
    pictures.whole_ticks(axis.xaxis)
    axis.grid(alpha=0.3)
    pictures.legend_beside(axis, "lines: predicted\ndots: measured")
    return figure
