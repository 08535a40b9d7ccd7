"""The record of re-planning over simulated days is what its program finds, and its verdict is computed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import table_replanning as bench


def held() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(bench.RECORD.read_text(encoding="utf-8"))
    return found


def test_the_record_says_what_its_days_say() -> None:
    """`python tests/bench/table_replanning.py` writes it anew."""
    record = held()
    assert len(record["days"]) == bench.DAYS
    summary = bench.summary(record["days"])
    assert {name: record[name] for name in summary} == summary
    assert bench.RECORD.with_suffix(".txt").read_text(encoding="utf-8") == bench.markdown(record)
    worse = [one | {"controller": one["controller"] + 0.05} for one in record["days"]]
    assert not bench.summary(worse)["holds"]
    level = [one | {"best fixed length": one["controller"]} for one in record["days"]]
    assert not bench.summary(level)["holds"]


def test_choices_are_made_again() -> None:
    for found, kept in zip(bench.choices(), held()["choices"], strict=True):
        assert list(found) == list(kept)
        for name, value in kept.items():
            assert found[name] == pytest.approx(value)


def test_every_policy_but_the_controller_is_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two days, from their seeds; nobody does better than the oracle."""
    monkeypatch.setattr(bench, "controlled", lambda one, seed, make: np.zeros((len(one.batch), 1), dtype=int))
    for seed in (0, 1):
        found, kept = bench.scores(bench.times(), seed), held()["days"][seed]
        for name in ("best fixed length", "its length", "lengths by batch", "never"):
            assert found[name] == pytest.approx(kept[name], abs=1e-12)
        assert found["controller"] == pytest.approx(kept["never"])  # which drafts nothing now
        assert 0 < kept["controller"] < kept["best fixed length"]


def test_the_controller_is_run_again() -> None:
    """An hour's worth: it loses less than any fixed length does, and something, since it has to learn."""
    found = bench.scores(bench.times(), 0, minutes=60)
    assert 0 < found["controller"] < found["best fixed length"]


@pytest.mark.slow
def test_a_day_is_run_again() -> None:
    assert bench.scores(bench.times(), 0) == pytest.approx(held()["days"][0], abs=1e-9)
