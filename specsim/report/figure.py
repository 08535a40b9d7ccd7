"""Parts of every picture: panels in a row, legends beside the data, whole ticks, PNG at 150 dpi."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from specsim.base import extras

# Dots per inch of every PNG.
DPI = 150
# Distance of labels of font size 7, as a part of the height of the axes.
GAP = 0.045


def figure(width: float, height: float, columns: int = 1, rows: int = 1) -> tuple[Any, list[Any]]:
    """A figure of that many inches, and its panels from left to right, row by row."""
    with extras.needed("a plot"):
        from matplotlib import figure as figures
        from matplotlib.backends.backend_agg import FigureCanvasAgg
    new_figure = figures.Figure(figsize=(width, height), dpi=DPI, layout="constrained")
    FigureCanvasAgg(new_figure)
    return new_figure, list(new_figure.subplots(rows, columns, squeeze=False).flat)


def whole_ticks(axis: Any) -> None:
    """Set ticks of an `axes.xaxis` or `axes.yaxis` at whole numbers only."""
    with extras.needed("a plot"):
        from matplotlib.ticker import MaxNLocator
    axis.set_major_locator(MaxNLocator(integer=True))


def legend_beside(axes: Any, title: str | None = None) -> None:
    """Draw the legend at the right of the axes, where it hides nothing; its lines show dashes."""
    if axes.get_legend_handles_labels()[0]:
        look: dict[str, Any] = {"handlelength": 3, "fontsize": 7, "title_fontsize": 7}
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), title=title, **look)


def label_ends(axes: Any, ends: Sequence[tuple[float, str, str]], ended: Sequence[float] | None = None) -> None:
    """Draw labels (value, text, colour) at the right edge, none over another.

    Each is joined to its value. ended: the horizontal value at which each line ends, if not all end
    at the right edge.
    """
    # The places where lines end, in parts of the axes, from the lowest up.
    right = axes.get_xlim()[1]
    lines = sorted(zip(ends, [right] * len(ends) if ended is None else ended, strict=True))
    to_axes = axes.transData + axes.transAxes.inverted()
    places = [to_axes.transform((x, value)).tolist() for (value, _, _), x in lines]

    # Push labels up until none covers the one below, then down until all are inside.
    heights = [y for _, y in places]
    for i in range(1, len(heights)):
        heights[i] = max(heights[i], heights[i - 1] + GAP)
    top = 1.0
    for i in reversed(range(len(heights))):
        top = heights[i] = min(heights[i], top)
        top -= GAP

    # Draw each label with a thin line to its value.
    line: dict[str, Any] = {"arrowstyle": "-", "linewidth": 0.5, "shrinkA": 0, "shrinkB": 0, "relpos": (0, 0.5)}
    for ((_, text, colour), _), place, height in zip(lines, places, heights, strict=True):
        axes.annotate(
            text,
            place,
            (1.05, height),
            xycoords="axes fraction",
            fontsize=7,
            va="center",
            color=colour,
            arrowprops=line | {"color": colour},
            annotation_clip=False,
        )


def as_png(drawn: Any) -> bytes:
    """Return the figure as a PNG of 256 colours, a third as large; the same bytes every time."""
    from PIL import Image

    full, small = io.BytesIO(), io.BytesIO()
    drawn.savefig(full, format="png", dpi=drawn.dpi)
    picture = Image.open(full).convert("RGB").quantize(256, dither=Image.Dither.NONE)
    picture.save(small, format="png", optimize=True)
    return small.getvalue()
