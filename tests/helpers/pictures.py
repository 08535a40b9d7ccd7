"""What is wrong with a rendered figure, in words; nothing if it can be read."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.text import Text


def faults(figure: Any, whole: bool = True) -> list[str]:
    """Unlabelled colour bars, ticks between whole numbers, legends over data, clipped text, and not 150 dpi."""
    figure.canvas.draw()
    panels = [axes for axes in figure.axes if not hasattr(axes, "_colorbar")]
    found = [] if figure.dpi == 150 else [f"{figure.dpi} dpi"]
    bars = [axes for axes in figure.axes if hasattr(axes, "_colorbar")]
    found += ["a colour bar without a label" for bar in bars if not (bar.get_ylabel() or bar.get_xlabel())]
    for axes in panels:
        found += [f"no title: {axes}"] if not (axes.get_title() or figure.get_suptitle()) else []
        if whole and axes.get_xscale() == "linear":
            found += [f"tick at {tick:g}" for tick in axes.get_xticks() if tick % 1]
        found += covered(axes)
    return found + clipped(figure)


def covered(axes: Any) -> list[str]:
    """Lines and dots under the legend."""
    legend = axes.get_legend()
    if legend is None:
        return []
    box = legend.get_window_extent()
    found = [
        f"legend over {line.get_label()}"
        for line in axes.lines
        if line.get_transform().transform_path(line.get_path()).intersects_bbox(box, filled=False)
    ]
    for dots in axes.collections:
        at = dots.get_offset_transform().transform(np.atleast_2d(dots.get_offsets()))
        found += ["legend over dots"] if any(box.contains(x, y) for x, y in at) and hasattr(dots, "get_sizes") else []
    return found


def clipped(figure: Any) -> list[str]:
    """Texts that reach over the edge of the figure."""
    found = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip():
            box, edge = text.get_window_extent(), figure.bbox
            inside = box.x0 >= edge.x0 - 1 and box.y0 >= edge.y0 - 1 and box.x1 <= edge.x1 + 1 and box.y1 <= edge.y1 + 1
            tick = any(text in [*a.get_xticklabels(), *a.get_yticklabels()] for a in figure.axes)
            found += [f"clipped: {text.get_text()!r}"] if not inside and not tick else []
    return found
