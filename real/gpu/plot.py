"""Plots of the parts, from their records alone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from specsim.base.files import write_bytes
from specsim.report.figure import as_png, figure, legend_beside, whole_ticks

# gamma, predicted and measured speedup.
Points = list[tuple[int, float, float]]


def panels(record: dict[str, Any]) -> dict[str, Points]:
    """Predicted and measured speedups of a record, by setting: the part of their keys before "/gamma n"."""
    by_setting: dict[str, Points] = defaultdict(list)
    for row in record["rows"]:
        if "speedup" in row:
            speed = row["speedup"]
            by_setting[row["key"].rpartition("/")[0]].append((row["gamma"], speed["predicted"], speed["measured"]))
    return {name: sorted(points) for name, points in by_setting.items()}


def speedups(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG of speedup by gamma, a panel a setting: predictions as lines, measurements as dots."""
    write_bytes(path, as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """The figure of `speedups`."""
    # A panel for each setting, four in a row.
    by_setting = panels(record)
    columns = min(len(by_setting), 4)
    rows = -(-len(by_setting) // columns)
    made, axes = figure(3.4 * columns + 1, 2.8 * rows, columns, rows)
    for axis in axes[len(by_setting) :]:
        axis.set_visible(False)
    for axis, (name, points) in zip(axes, by_setting.items(), strict=False):
        gammas, predicted, measured = zip(*points, strict=True)
        axis.plot(gammas, predicted, label="predicted")
        axis.plot(gammas, measured, "o", label="measured")
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_title(name, fontsize=9)
        whole_ticks(axis.xaxis)
        axis.set_xlabel("gamma (drafts per block)")
        axis.set_ylabel("speedup")
        axis.grid(alpha=0.3)
    legend_beside(axes[min(columns, len(by_setting)) - 1])
    gpu = record["provenance"]["gpu"]
    made.suptitle(gpu["name"] if gpu else "CPU", fontsize=10)
    return made
