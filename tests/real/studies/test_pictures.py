"""The recorded pictures can be read, and are what their records draw."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

from helpers.pictures import faults

import real
from real.studies.compare import report, rules_report
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
}


@pytest.mark.parametrize("name", DRAWN)
def test_a_recorded_picture_can_be_read(name: str) -> None:
    figure = DRAWN[name](json.loads((RESULTS / f"{name}.json").read_text()))
    assert faults(figure) == []
    assert len(as_png(figure)) < 200_000
    assert (RESULTS / f"{name}.png").stat().st_size < 200_000
