"""Faults of a rendered figure, in words."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.text import Text


def faults(figure: Any, whole: bool = True) -> list[str]:
    """Return the faults of a figure, none if it can be read.

    They are colour bars without labels, missing titles, ticks between whole numbers, legends over
    data, cut text and marks, and a resolution other than 150 dpi.
    """
    figure.canvas.draw()
    panels = [axes for axes in figure.axes if not hasattr(axes, "_colorbar") and axes.get_visible()]
    words = [] if figure.dpi == 150 else [f"{figure.dpi} dpi"]
    bars = [axes for axes in figure.axes if hasattr(axes, "_colorbar")]
    words += ["a colour bar without a label" for bar in bars if not (bar.get_ylabel() or bar.get_xlabel())]
    for axes in panels:
        words += [f"no title: {axes}"] if not (axes.get_title() or figure.get_suptitle()) else []
        if whole and axes.get_xscale() == "linear":
            words += [f"tick at {tick:g}" for tick in axes.get_xticks() if tick % 1]
        words += covered(axes) + cut(axes)
    return words + clipped(figure)


def covered(axes: Any) -> list[str]:
    """Return lines and dots under the legend."""
    legend = axes.get_legend()
    if legend is None:
        return []
    box = legend.get_window_extent()
    words = [
        f"legend over {line.get_label()}"
        for line in axes.lines
        if line.get_transform().transform_path(line.get_path()).intersects_bbox(box, filled=False)
    ]
    for dots in axes.collections:
        at = dots.get_offset_transform().transform(np.atleast_2d(dots.get_offsets()))
        words += ["legend over dots"] if any(box.contains(x, y) for x, y in at) and hasattr(dots, "get_sizes") else []
    return words


def cut(axes: Any) -> list[str]:
    """Return dots, and ends of error bars, that the edge of the axes cuts; lines may leave the picture."""
    words = []
    for line in axes.lines:
        if line.get_clip_on() and line.get_marker() not in ("None", "none", "", " ", None):
            at, size = line.get_transform().transform(line.get_xydata()), line.get_markersize()
            words += [f"cut: a dot of {line.get_label()}"] if sticks_out(axes, at, size) else []
    for marks in axes.collections:
        if isinstance(marks, LineCollection) and marks.get_clip_on():
            ends = [marks.get_transform().transform(segment) for segment in marks.get_segments() if len(segment)]
            words += ["cut: an error bar"] if ends and sticks_out(axes, np.concatenate(ends), 0) else []
        elif isinstance(marks, PathCollection) and marks.get_clip_on():
            at = marks.get_offset_transform().transform(np.atleast_2d(marks.get_offsets()))
            size = float(np.sqrt(marks.get_sizes()).max())
            words += [f"cut: a dot of {marks.get_label()}"] if sticks_out(axes, at, size) else []
    return words


def sticks_out(axes: Any, at: Any, size: float) -> bool:
    """True if one of the dots at (n, 2) lies outside the axes by more than a quarter, or a pixel."""
    box, at = axes.get_window_extent(), np.asarray(at, dtype=float)
    at = at[np.isfinite(at).all(axis=1)]
    spare = 1 - size * axes.figure.dpi / 72 / 4
    low, high = np.array([box.x0, box.y0]) - spare, np.array([box.x1, box.y1]) + spare
    return bool(((at < low) | (at > high)).any())


def clipped(figure: Any) -> list[str]:
    """Return texts that reach over the edge of the figure."""
    words = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box, edge = text.get_window_extent(), figure.bbox
            inside = box.x0 >= edge.x0 - 1 and box.y0 >= edge.y0 - 1 and box.x1 <= edge.x1 + 1 and box.y1 <= edge.y1 + 1
            tick = any(text in [*a.get_xticklabels(), *a.get_yticklabels()] for a in figure.axes)
            words += [f"clipped: {text.get_text()!r}"] if not inside and not tick else []
    return words
