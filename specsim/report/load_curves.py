"""Curves over a load: times of requests by their rate, tokens per second by the number of clients.

Needs matplotlib (extra `plot`). Both axes are logarithmic; each curve has its name at its end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from specsim.base import extras
from specsim.report import figure as pictures

Way = Literal["plain", "with drafts"]
PLAIN: Way = "plain"
DRAFTS: Way = "with drafts"
COLOURS = {PLAIN: "black", DRAFTS: "C0"}
STYLES = {"": "-", "mean": "-", "P50": "--", "P99": ":"}
# Ratio of two values of the horizontal axis from which both have a label.
APART = 1.25
# Room beside the first load and the last, as a part of the logarithm of their ratio.
MARGIN = 0.02


class Curve(NamedTuple):
    """One line: the way to decode, the statistic, and its value at each load.

    `what` is "mean", "P50", "P99" or ""; a value is None where there is none.
    """

    way: Way
    what: str
    values: tuple[float | None, ...]

    @property
    def name(self) -> str:
        """The label of the line."""
        return f"{self.way} {self.what}".rstrip()


class Panel(NamedTuple):
    """One panel: title, names of both axes, loads, and the curves over them."""

    title: str
    load: str
    unit: str
    loads: tuple[float, ...]
    curves: tuple[Curve, ...]


def picture(panels: Sequence[Panel], title: str) -> bytes:
    """Return a PNG with the panels side by side."""
    return pictures.as_png(drawn(panels, title))


def drawn(panels: Sequence[Panel], title: str) -> Any:
    """Return the figure of the panels side by side."""
    figure, axes = pictures.figure(5.4 * len(panels), 3.9, len(panels))
    for axis, panel in zip(axes, panels, strict=True):
        _draw(axis, panel)
    figure.suptitle(title, fontsize=9)
    return figure


def _draw(axis: Any, panel: Panel) -> None:
    """Draw the curves of a panel, from the smallest load on."""
    order = sorted(range(len(panel.loads)), key=panel.loads.__getitem__)
    loads = [panel.loads[i] for i in order]
    # The label of each line's end, and the load where it stands.
    labels, label_loads = list[tuple[float, str, str]](), list[float]()
    for curve in panel.curves:
        points = [(panel.loads[i], value) for i in order if (value := curve.values[i]) is not None]
        if not points:
            continue
        colour = COLOURS[curve.way]
        axis.plot(*zip(*points, strict=True), STYLES[curve.what], marker="o", markersize=3, color=colour)
        last_load, last = points[-1]
        name = curve.name if last_load == loads[-1] else f"{curve.name}, up to {last_load:g}"
        labels.append((last, name, colour))
        label_loads.append(last_load)

    # Scales, whose ends are round; labels need to know them.
    _scale(axis, loads, [value for curve in panel.curves for value in curve.values if value is not None])
    axis.set(xlabel=panel.load, ylabel=panel.unit)
    axis.set_title(panel.title, fontsize=9)
    pictures.label_ends(axis, labels, label_loads)


def _scale(axis: Any, loads: Sequence[float], values: Sequence[float]) -> None:
    """Make both axes logarithmic, with ticks at the loads and at 1, 2 and 5 times powers of ten."""
    with extras.needed("a plot"):
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator
    margin = max(loads[-1] / loads[0], 1.2) ** MARGIN
    axis.set(xscale="log", yscale="log", xlim=(loads[0] / margin, loads[-1] * margin))
    rounds = list(_rounds(min(values), max(values)))
    axis.set_ylim(rounds[0], rounds[-1])
    for scale, ticks in ((axis.xaxis, list(_apart(loads))), (axis.yaxis, rounds)):
        scale.set_major_locator(FixedLocator(ticks))
        scale.set_minor_locator(NullLocator())
        scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))
    axis.grid(axis="y", linewidth=0.3)


def _rounds(low: float, high: float) -> Iterator[float]:
    """Yield 1, 2 and 5 times powers of ten, from the last below `low` to the first above `high`."""
    steps = [digit * 10.0**power for power in range(-9, 13) for digit in (1, 2, 5)]
    below = [step for step in steps if step < low * (1 - 1e-9)]
    above = [step for step in steps if step > high * (1 + 1e-9)]
    yield from (step for step in steps if below[-1] <= step <= above[0])


def _apart(loads: Sequence[float]) -> Iterator[float]:
    """Yield the loads whose labels do not touch, from the largest down."""
    last = math.inf
    for load in reversed(loads):
        if last / load >= APART:
            yield load
            last = load
