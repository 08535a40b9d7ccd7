"""The record of measured serving cells says what the plan predicts today, and its verdict follows from its rows."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tests/bench/table_cells.py."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("table_cells")


def test_the_verdict_follows_from_the_rows(cells: ModuleType) -> None:
    record = cells.recorded()
    assert record["verdict"] == cells.verdict(record["rows"])
    assert record["verdict"]["cells"] == 44
    assert not any(record["verdict"]["met"].values())
    # What the page says of caches in 16 bits.
    page = (Path(__file__).parents[2] / "docs" / "results" / "loop.md").read_text(encoding="utf-8")
    assert "| all | 16 | 20 | 4.5% | 13.2% | 20 | 14 | 2.1% | 9.0% |" in page


@pytest.mark.parametrize("index", [4, 27])
def test_a_recorded_cell_is_predicted_again(cells: ModuleType, index: int) -> None:
    row = cells.recorded()["rows"][index]
    answer = cells.predicted(cells.Cell(**{name: row[name] for name in cells.Cell._fields}))
    assert answer["speedup"]["value"] == pytest.approx(row["speedup"]["value"], rel=1e-6)
    assert answer["plain_tokens_per_s"] == pytest.approx(row["plain_predicted"], rel=1e-6)


def test_a_verdict_counts_only_cells_that_were_held_back(cells: ModuleType) -> None:
    speedup = {"value": 2.0, "low": 1.9, "high": 2.1}
    held = {"workload": "w", "weights": "fp16", "cache": "fp8", "plain": 1.0, "drafted": 2.0, "plain_predicted": 1.0}
    tuned = dict(zip(("workload", "weights", "cache"), cells.TUNED, strict=True))
    wrong = held | tuned | {"drafted": 0.5}
    verdict = cells.verdict([held | {"speedup": speedup}, wrong | {"speedup": speedup}])
    assert (verdict["cells"], verdict["signs_right"], verdict["covered"]) == (1, 1, 1)
    assert all(verdict["met"].values())
