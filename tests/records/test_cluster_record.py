"""The record of a study on many workers: what the page says follows from its seconds and bytes."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bench_cluster as bench
import pytest

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")

DOCS = Path(__file__).parents[2] / "docs"
MADE: dict[str, Any] = {
    "machine": "a machine",
    "cores": 2,
    "cells": 100,
    "cell_s": 0.5,
    "scaling": [
        {"workers": 1, "seconds": 62.5, "efficiency": 0.8, "bytes": 250_000},
        {"workers": 4, "seconds": 25.0, "efficiency": 0.5, "bytes": 250_000},
    ],
    "killed": {"workers": 4, "seconds": 31.0, "rows": 100, "same_file": True},
    "million": {"cells": 1_000_000, "seconds": 90.0, "memory": 2_100_000_000, "file": 30_000_000},
    "cell": {"`plan`": 0.0036},
}


@pytest.fixture
def table(monkeypatch: pytest.MonkeyPatch) -> Callable[[dict[str, Any]], str]:
    """What docs/_generate/cluster.py writes of a record."""
    monkeypatch.syspath_prepend(str(DOCS))
    found: Callable[[dict[str, Any]], str] = importlib.import_module("_generate.cluster").table
    return found


def test_the_page_says_what_the_record_says(table: Any) -> None:
    words = table(MADE)
    assert "| 4 | 25.0 | 12.5 | 50% | 2,500 |" in words
    assert "killed half-way: 31.0 s instead of 25.0 s, 100 rows, the same file" in words
    assert "1,000,000 cells of kind `plan` on two processes: 90 s, 2.1 GB of memory" in words
    assert "| `plan` | 3.6 ms | 1 core-hours |" in words
    assert "**another file**" in table(MADE | {"killed": MADE["killed"] | {"same_file": False}})


def test_efficiency_is_that_of_the_seconds_and_no_row_was_lost() -> None:
    record = json.loads(bench.RECORD.read_text(encoding="utf-8"))
    assert [row["workers"] for row in record["scaling"]] == list(bench.WORKERS)
    for row in record["scaling"]:
        share = record["cells"] * record["cell_s"] / (row["workers"] * row["seconds"])
        assert row["efficiency"] == pytest.approx(share)
    assert record["killed"]["same_file"]
    assert (record["killed"]["rows"], record["million"]["cells"]) == (record["cells"], bench.MILLION)


@pytest.mark.slow
def test_it_runs_to_its_end(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("distributed", reason="distributed (extra `sweep`) is not installed")
    monkeypatch.setattr(bench, "WORKERS", (4,))
    monkeypatch.setattr(bench, "CALLS", 1)
    record = bench.measured(40, 0.2, 100, lambda line: None)
    assert record["killed"]["same_file"]
    assert record["killed"]["rows"] == 40
    assert record["scaling"][0]["seconds"] > 40 * 0.2 / 4
    assert table(record)
