"""Pictures of results: `.plot()` of a record draws with these. Needs matplotlib (extra `plot`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from specsim.base import extras
from specsim.types import Array

# Height of a label of font size 8, as a share of the axes' height: labels stand no closer.
LABEL_HEIGHT = 0.055
# Inches of a picture that a record draws by itself.
SIZE = (6.4, 4.0)
# Grey of what is not the subject of a picture.
MUTED = "0.45"


class Line(NamedTuple):
    """One line of a picture, with a label at its right end; `low` and `high` are its band, if any."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    colour: str = "C0"
    style: str = "-"
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None


def new_axes(axes: Any, method: str) -> Any:
    """Return the axes that a caller gave, or new ones; ImportError in one line without matplotlib."""
    if axes is not None:
        return axes
    with extras.needed(method):
        from matplotlib import pyplot
    return pyplot.subplots(figsize=SIZE, layout="constrained")[1]


def draw_lines(axes: Any, lines: Sequence[Line]) -> None:
    """Draw lines with markers and bands."""
    for line in lines:
        axes.plot(line.x, line.y, line.style, color=line.colour, marker="o", markersize=3.5, linewidth=1.5)
        if line.low is not None and line.high is not None:
            axes.fill_between(line.x, line.low, line.high, color=line.colour, alpha=0.18, linewidth=0)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", color="0.9", linewidth=0.6)
    axes.set_axisbelow(True)


def label_lines(axes: Any, lines: Sequence[Line]) -> None:
    """Write the label of each line at its right end, so that no label lies over another."""
    # A line that ends before the others has its label at its end.
    last = max((line.x[-1] for line in lines), default=0)
    for line in lines:
        if line.x[-1] < last:
            axes.annotate(
                line.label, (line.x[-1], line.y[-1]), (5, -9), textcoords="offset points", fontsize=8, color=line.colour
            )
    # Labels of the others stand in one column beside the axes, moved apart where they are too close.
    lines = sorted((line for line in lines if line.x[-1] == last), key=lambda line: line.y[-1])
    # Heights of line ends as shares of the axes' height.
    low, high = axes.get_ylim()
    heights = [(line.y[-1] - low) / (high - low) for line in lines]
    label_heights = apart(heights, LABEL_HEIGHT)
    left, right = axes.get_xlim()
    is_logarithmic = axes.get_xscale() == "log"
    for line, height, label_height in zip(lines, heights, label_heights, strict=True):
        # The line's end as a share of the axes' width; an arrow leads from there to the label.
        end = line.x[-1]
        share = np.log(end / left) / np.log(right / left) if is_logarithmic else (end - left) / (right - left)
        axes.annotate(
            line.label,
            (share, height),
            (1.02, label_height),
            xycoords="axes fraction",
            fontsize=8,
            va="center",
            color=line.colour,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "linewidth": 0.5,
                "color": line.colour,
                "shrinkA": 1,
                "shrinkB": 2,
                "relpos": (0, 0.5),
            },
        )


def apart(heights: Sequence[float], gap: float) -> list[float]:
    """Return rising heights moved so that neighbours are a gap apart, none above 1 where there is room.

    >>> [round(height, 2) for height in apart([0.5, 0.5, 1.0], 0.1)]
    [0.5, 0.6, 1.0]
    """
    moved = list(heights)
    # From below: push each up to a gap above its neighbour.
    for i in range(1, len(moved)):
        moved[i] = max(moved[i], moved[i - 1] + gap)
    # From above: push each down to 1, or to a gap below its neighbour.
    top = 1.0
    for i in reversed(range(len(moved))):
        moved[i] = min(moved[i], top)
        top = moved[i] - gap
    return moved


def whole_ticks(axis: Any) -> None:
    """Put ticks of an `axes.xaxis` or `axes.yaxis` at whole numbers only."""
    with extras.needed("a plot"):
        from matplotlib.ticker import MaxNLocator
    axis.set_major_locator(MaxNLocator(integer=True))


def listed_ticks(axes: Any, values: Sequence[float]) -> None:
    """Make the horizontal axis logarithmic to base 2, with ticks at these values."""
    axes.set_xscale("log", base=2)
    axes.set_xticks(list(values), [f"{value:g}" for value in values])
    axes.set_xticks([], minor=True)


def survival_plot(hazards: Array, intervals: Array, axes: Any = None) -> Any:
    """Draw the share of blocks in which each draft, and all before it, is accepted; return matplotlib's Axes.

    The line is the product of the hazards; its band is the product of the ends of their intervals.
    """
    axes = new_axes(axes, "plot")
    rates = np.asarray(hazards, dtype=float)
    low_rates, high_rates = np.asarray(intervals, dtype=float).reshape(-1, 2).T
    # The line ends before the first position that no block tested, whose hazard is NaN.
    is_untested = np.isnan(rates)
    num_tested = int(np.argmax(is_untested)) if is_untested.any() else len(rates)
    # The line, its band, and the share at each position.
    survival, low, high = (
        np.cumprod([1.0, *factors[:num_tested]]).tolist() for factors in (rates, low_rates, high_rates)
    )
    line = Line("", list(range(num_tested + 1)), survival, low=low, high=high)
    draw_lines(axes, [line])
    for place, share in enumerate(survival[1:], start=1):
        axes.annotate(f"{share:.0%}", (place, share), (4, 5), textcoords="offset points", fontsize=8, color="C0")
    # Axes, in whole positions and per cent, and the title.
    whole_ticks(axes.xaxis)
    axes.set_ylim(0, 1.06)
    axes.set_xlim(-0.1, num_tested + 0.4)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:.0%}")
    axes.set_xlabel("draft token, by its place in the block")
    axes.set_ylabel("blocks that accept it and all before it")
    axes.set_title(f"tau = {sum(survival):.3g} tokens per target call", fontsize=10, loc="left")
    return axes
