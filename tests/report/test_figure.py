"""A figure can be read: colour bars and panels say what they are, legends hide nothing, ticks are whole, 150 dpi."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("matplotlib")

from helpers.pictures import faults

from specsim.report.figure import as_png, figure, label_ends, legend_beside, whole_ticks


def good() -> tuple[Any, Any]:
    drawn, (left, right) = figure(9, 3.6, 2)
    for i in range(3):
        left.plot([1, 2, 3], [i, i + 1, i], "--", label=f"line {i}")
    left.set_title("lines")
    whole_ticks(left.xaxis)
    legend_beside(left)
    shown = right.imshow([[0, 1], [1, 2]])
    whole_ticks(right.xaxis)
    right.set_title("image")
    drawn.colorbar(shown, ax=right, label="speedup")
    return drawn, left


def no_label(drawn: Any, axes: Any) -> None:
    drawn.axes[-1].set_ylabel("")


def half_ticks(drawn: Any, axes: Any) -> None:
    axes.set_xticks([1, 1.5, 2])


def legend_on_data(drawn: Any, axes: Any) -> None:
    axes.legend(loc="center")


def long_title(drawn: Any, axes: Any) -> None:
    axes.set_title("a title that is longer than the picture " * 5)


def coarse(drawn: Any, axes: Any) -> None:
    drawn.set_dpi(130)


def dots_outside(drawn: Any, axes: Any) -> None:
    axes.plot([1, 2, 3], [0, 1, 2], "o", label="dots")
    axes.set_ylim(0.5, 3)


def half_a_dot(drawn: Any, axes: Any) -> None:
    axes.plot([1, 2, 3], [0, 1, 2], "o", label="dots")
    axes.set_xlim(1, 4)


def scattered_outside(drawn: Any, axes: Any) -> None:
    axes.scatter([1, 2, 9], [0, 1, 2], label="scattered")
    axes.set_xlim(0, 4)


def bars_outside(drawn: Any, axes: Any) -> None:
    axes.errorbar([1, 2, 3], [1, 1, 1], [0.5, 0.5, 5], fmt="none")
    axes.set_ylim(-1, 4)


def test_a_good_figure_has_no_faults() -> None:
    drawn, _ = good()
    assert faults(drawn) == []
    assert as_png(drawn)[:8] == b"\x89PNG\r\n\x1a\n"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (no_label, "a colour bar without"),
        (half_ticks, "tick at 1.5"),
        (legend_on_data, "legend over"),
        (long_title, "clipped"),
        (coarse, "130 dpi"),
        (dots_outside, "cut: a dot of dots"),
        (half_a_dot, "cut: a dot of dots"),
        (scattered_outside, "cut: a dot of scattered"),
        (bars_outside, "cut: an error bar"),
    ],
)
def test_a_bad_figure_is_convicted(spoil: Callable[[Any, Any], None], said: str) -> None:
    drawn, axes = good()
    spoil(drawn, axes)
    assert any(said in fault for fault in faults(drawn))


def test_labels_of_equal_values_stand_apart() -> None:
    drawn, (axes,) = figure(6, 4)
    axes.set_title("ends")
    axes.set_ylim(0, 1)
    label_ends(axes, [(0.9, f"line {i}", "black") for i in range(12)])
    assert faults(drawn, whole=False) == []
    spots = sorted(text.get_position()[1] for text in axes.texts)
    assert len(spots) == 12
    assert all(later - sooner > 0.04 for sooner, later in itertools.pairwise(spots))
