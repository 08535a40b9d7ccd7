"""The measurement of a sweep: that it runs to its end, what it says of its goal, and the record once there is one."""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import bench_sweep as bench
import pytest
from helpers.studies import threads

pytest.importorskip("pyarrow", reason="pyarrow (extra `sweep`) is not installed")
pytest.importorskip("duckdb", reason="duckdb (extra `sweep`) is not installed")

from specsim.commands.sweep import pools
from specsim.commands.sweep.pools import Pool
from specsim.report import figure


def test_it_runs_to_its_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads stand for processes and for workers of a cluster."""
    asked: list[Any] = []

    def opened(told: Any) -> AbstractContextManager[Pool]:
        asked.append(told)
        return threads(1)()

    monkeypatch.setattr(pools, "processes", opened)
    monkeypatch.setattr(pools, "cluster", opened)
    monkeypatch.setattr(bench, "ROUNDS", 1)
    bench.main(out=tmp_path, largest=100)
    record = json.loads((tmp_path / "sweep.json").read_text(encoding="utf-8"))
    assert [n for n, _ in record["points"]["processes"]] == [100]
    assert [[n for n, _ in series] for series in record["workers"].values()] == [list(bench.WORKERS)] * 2
    assert asked == [2, 1, 4, 8, "local:2", "local:1", "local:4", "local:8"]
    assert record["held"] is None, "fewer points say nothing of the goal"
    assert (tmp_path / "sweep.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(("took", "held"), [(59.9, True), (60.1, False)])
def test_the_goal_can_be_missed(took: float, held: bool) -> None:
    record = {"points": {"processes": [(100, 61.0), (100_000, took)]}}
    assert bench.judged(record)["held"] is held


def test_a_record_is_of_all_points_and_judged_as_it_says() -> None:
    """There is none before the first quiet run."""
    for path in bench.HERE.glob("sweep.json"):
        record = json.loads(path.read_text(encoding="utf-8"))
        assert bench.judged(record) == record
        for series in record["points"].values():
            assert [n for n, _ in series] == list(bench.SIZES)


def test_times_are_logarithmic_over_points_and_begin_at_zero_over_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = figure.figure(9, 3.6, 2)
    monkeypatch.setattr(figure, "figure", lambda *size: drawn)
    series = {"processes": [(1, 4.0), (2, 2.5)]}
    bench.draw({"points": series, "workers": series, "goal_s": bench.GOAL}, tmp_path / "sweep.png")
    by_points, by_workers = drawn[1]
    assert (by_points.get_xscale(), by_points.get_yscale()) == ("log", "log")
    assert (by_workers.get_xscale(), by_workers.get_ylim()[0]) == ("log", 0)
    for axis in drawn[1]:
        assert axis.get_legend_handles_labels()[1] == ["processes"]


def test_points_are_of_the_size_that_is_asked_for() -> None:
    with pytest.raises(ValueError, match="largest is 99; it must be at least 100"):
        bench.main(largest=99)
    assert bench.seconds(100, threads(1)) > 0
