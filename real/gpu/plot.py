"""Plots of the parts, from their records alone."""

from __future__ import annotations

import io
from collections import defaultdict
from pathlib import Path
from typing import Any

from specsim.base.files import write_bytes

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
    import matplotlib as mpl

    mpl.use("agg")
    import matplotlib.pyplot as plt
    from matplotlib.ticker import MaxNLocator

    found = panels(record)
    columns = min(len(found), 4)
    rows = -(-len(found) // columns)
    size = 3.4 * columns, 2.8 * rows
    figure, axes = plt.subplots(rows, columns, figsize=size, layout="constrained", sharey=True, squeeze=False)
    for axis in axes.ravel()[len(found) :]:
        axis.set_visible(False)
    for axis, (name, points) in zip(axes.ravel(), found.items(), strict=False):
        gammas, predicted, measured = zip(*points, strict=True)
        axis.plot(gammas, predicted, label="predicted")
        axis.plot(gammas, measured, "o", label="measured")
        axis.axhline(1, color="black", linewidth=0.8)
        axis.set_title(name, fontsize=9)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
        axis.set_xlabel("gamma (drafts per block)")
        axis.grid(alpha=0.3)
    axes[0, 0].set_ylabel("speedup")
    axes[0, 0].legend()
    gpu = record["provenance"]["gpu"]
    figure.suptitle(gpu["name"] if gpu else "CPU", fontsize=10)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=130)
    plt.close(figure)
    write_bytes(path, buffer.getvalue())
