"""The recorded grid of closed form against simulation: its verdict, and a part of it made anew."""

from __future__ import annotations

import json
from typing import Any

import bench_load as bench
import pytest

from specsim import request_times, stable_rate
from specsim.speed.load.events import drawn, serve

RECORD: dict[str, Any] = json.loads((bench.HERE / "load.json").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = RECORD["rows"]


def test_the_recorded_test_is_passed() -> None:
    assert [tuple(row[key] for key in ("law", "limit", "prompt", "load")) for row in ROWS] == list(bench.grid())
    assert (RECORD["requests"], RECORD["runs"]) == (bench.REQUESTS, [bench.RUNS, bench.MOST_RUNS])
    found = bench.verdict(ROWS)
    assert found == RECORD["verdict"]
    assert found["passed"]
    assert found["points"] >= 200
    assert found["inside"] >= 200
    for name in bench.TIMES:
        assert found[name]["median_with_interval"] <= 0.03
        assert found[name]["in_interval"] > 0.8
    assert found["first"]["median_outside"] > 0.03, "there is a region where it fails, and it is not counted"


def test_the_recorded_closed_form_is_what_the_code_gives() -> None:
    for row in ROWS[::29]:  # every load among them
        served = bench.service(row["law"], row["limit"], row["prompt"])
        found = request_times(served, row["load"] * stable_rate(served))
        assert found.holds is row["holds"]
        for name in bench.TIMES:
            assert getattr(found, f"{name}_s") == pytest.approx(row[name]["closed"], rel=1e-9)


def test_a_verdict_can_fail() -> None:
    """Times that are a tenth off at every point of the region."""
    off = json.loads(json.dumps(ROWS))
    for row in off:
        row["total"]["closed"] *= 1.1
    assert not bench.verdict(off)["passed"]


def test_simpy_serves_the_same_requests_alike() -> None:
    """An independent run of the same server, process by process."""
    pytest.importorskip("simpy")
    served = bench.service("four drafts, 0.85", 4, 512)
    arrivals, cycles = drawn(served, 0.9 * stable_rate(served), 200, 1, 0)
    assert bench.by_simpy(arrivals, cycles, served) == pytest.approx(serve(arrivals, cycles, served).done, rel=1e-12)


@pytest.mark.slow
def test_points_of_the_record_are_made_anew() -> None:
    for row in ROWS[::101]:
        again = bench.point(row["law"], row["limit"], row["prompt"], row["load"])
        for name in bench.TIMES:
            assert again[name] == pytest.approx(row[name], rel=1e-9)
