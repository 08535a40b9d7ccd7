"""The recorded pictures can be read, and are what their records draw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from helpers import comparisons
from helpers.pictures import faults

import real
from real.gpu import plot
from real.studies.compare import report, rules_report, tree_report
from real.studies.drafts import report as drafts_report
from real.studies.forced import report as forced_report
from real.studies.trees import report as trees_report
from specsim.report.figure import as_png

RESULTS = Path(real.__file__).parent / "results"
DRAWN = {
    "bundled": report.drawn,
    "widened": report.drawn,
    "forced": forced_report.drawn,
    "block": rules_report.drawn,
    "drafts": drafts_report.drawn,
    "trees": trees_report.drawn,
    **{path.stem: tree_report.drawn for path in sorted(RESULTS.glob("compare-trees*.json"))},
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_recorded_picture_can_be_read(name: str) -> None:
    figure = DRAWN[name](json.loads((RESULTS / f"{name}.json").read_text()))
    assert faults(figure, whole=not name.startswith("compare-trees")) == []  # there a number is on the x axis
    assert len(as_png(figure)) < 200_000
    assert (RESULTS / f"{name}.png").stat().st_size < 200_000


@pytest.mark.parametrize("intervals", [True, False])
def test_a_picture_of_trees_can_be_read(intervals: bool) -> None:
    """Of a record made up, with many rules; of one prompt, which gives no intervals, too."""
    record = comparisons.of_trees()
    for row in record["rows"] if not intervals else ():
        row["tau"] |= {"interval": None, "difference_interval": None}
        row["speedup"]["interval"] = None
    figure = tree_report.drawn(record)
    assert faults(figure, whole=False) == []
    labels = [text.get_text() for text in figure.axes[1].get_legend().get_texts()]
    assert labels == ["chains, block", *(f"trees, {rule}" for rule in ("tokenwise", "traversal", "multipath_block"))]


def test_a_picture_of_a_gpu_can_be_read() -> None:
    """One panel a setting, and more settings than stand in a row."""
    settings = [f"llama-3.1-8b, batch {batch}" for batch in (1, 4, 16, 64, 256)]
    rows = [
        {"key": f"{name}/gamma {g}", "gamma": g, "speedup": {"predicted": 1 + g / 9, "measured": 1.1 + g / 9}}
        for name in settings
        for g in range(1, 9)
    ]
    figure = plot.drawn({"rows": [*rows, {"key": "copy"}], "provenance": {"gpu": {"name": "a GPU"}}})
    assert faults(figure) == []
    assert [axes.get_title() for axes in figure.axes if axes.get_visible()] == settings
