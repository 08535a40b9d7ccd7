"""Plots of the parts, from their records alone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from specsim.base.files import write_bytes
from specsim.report.figure import as_png, figure, legend_beside, whole_ticks

Points = list[tuple[int, float, float]]  # gamma, predicted, measured


def panels(record: dict[str, Any]) -> dict[str, Points]:
    """Predicted and measured speedups of a record, by setting: what stands before "/gamma n" in their keys."""
    found: dict[str, Points] = defaultdict(list)
    for row in record["rows"]:
        if "speedup" in row:
            speed = row["speedup"]
            found[row["key"].rpartition("/")[0]].append((row["gamma"], speed["predicted"], speed["measured"]))
    return {name: sorted(points) for name, points in found.items()}


def speedups(path: Path, record: dict[str, Any]) -> None:
    """PNG of speedup against gamma, a panel for each setting: predictions as lines, measurements as dots."""
    write_bytes(path, as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """The figure of `speedups`."""
    found = panels(record)
    columns = min(len(found), 4)
    rows = -(-len(found) // columns)
    made, axes = figure(3.4 * columns + 1, 2.8 * rows, columns, rows)
    for axis in axes[len(found) :]:
        axis.set_visible(False)
    for axis, (name, points) in zip(axes, found.items(), strict=False):
        gammas, predicted, measured = zip(*points, strict=True)
        axis.plot(gammas, predicted, label="predicted")
        axis.plot(gammas, measured, "o", label="measured")
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_title(name, fontsize=9)
        whole_ticks(axis.xaxis)
        axis.set_xlabel("gamma (drafts per block)")
        axis.set_ylabel("speedup")
        axis.grid(alpha=0.3)
    legend_beside(axes[min(columns, len(found)) - 1])
    gpu = record["provenance"]["gpu"]
    made.suptitle(gpu["name"] if gpu else "CPU", fontsize=10)
    return made
