"""Plots of the parts, from their records alone."""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

from specsim.base.files import write_bytes
from specsim.report.figure import as_png, figure, legend_beside, whole_ticks

# gamma, predicted and measured speedup.
Points = list[tuple[int, float, float]]


def panels(record: dict[str, Any]) -> dict[str, Points]:
    """Return the points of each setting of a record, by gamma.

    A setting is the key of a row without its last part: "50m/graphs/batch 8" of
    "50m/graphs/batch 8/gamma 4".
    """
    by_setting: dict[str, Points] = defaultdict(list)
    for row in record["rows"]:
        if "speedup" in row:
            setting, _, _ = row["key"].rpartition("/")
            speedup = row["speedup"]
            by_setting[setting].append((row["gamma"], speedup["predicted"], speedup["measured"]))
    return {setting: sorted(points) for setting, points in by_setting.items()}


def speedups(path: Path, record: dict[str, Any]) -> None:
    """Write a PNG of speedup by gamma, a panel for each setting: predictions as lines, measurements as dots."""
    write_bytes(path, as_png(drawn(record)))


def drawn(record: dict[str, Any]) -> Any:
    """Return the figure of `speedups`."""
    # A grid of panels, four in a row; the last row may have empty places.
    by_setting = panels(record)
    columns = min(len(by_setting), 4)
    rows = math.ceil(len(by_setting) / columns)
    grid, axes = figure(3.4 * columns + 1, 2.8 * rows, columns, rows)
    for axis in axes[len(by_setting) :]:
        axis.set_visible(False)

    # A panel for each setting.
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

    # One legend, right of the first row, and the name of the machine.
    legend_beside(axes[columns - 1])
    gpu = record["provenance"]["gpu"]
    grid.suptitle(gpu["name"] if gpu else "CPU", fontsize=10)
    return grid
