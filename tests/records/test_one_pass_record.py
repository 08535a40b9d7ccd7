"""The record of drafters of one pass on SmolLM2: its numbers and verdicts follow from counts by prompt."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

BENCH = Path(__file__).parents[1] / "bench"


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """tests/bench/one_pass_report.py."""
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("one_pass_report")


def part(calls: int, expected: float, temperature: float = 1.0) -> dict[str, Any]:
    """A drafter's part: two prompts of 12 and 18 tokens, in so many calls each, by both rules at two gammas."""
    counts = {"tokens": [12, 18], "calls": [calls, calls + 4], "text_tokens": [12, 18]}
    counts |= {"text_calls": [expected, expected + 4], "text_calls_alike": [expected - 1, expected + 3]}
    rows = [{"temperature": temperature, "rule": "tokenwise", "gamma": gamma, **counts} for gamma in (2, 4)]
    rows.append(rows[-1] | {"rule": "block", "calls": [calls - 1, calls + 3]})
    return {"made": {}, "rows": rows}


CEILING = {"contexts": [{"places": [1, 0.5, 0.25, 0.5], "places_of_half": [1, 0.75, 0.5, 0.5]}] * 2}


def _record(report: ModuleType, parts: dict[str, Any]) -> Any:
    """The record of parts whose runs are those of `part`."""
    return report.record({}, parts, [(1.0, "tokenwise", 2), (1.0, "tokenwise", 4), (1.0, "block", 4)])


def test_numbers_and_verdicts_follow_from_counts(report: ModuleType) -> None:
    """The head trained here takes 10 + 14 calls for 30 tokens, the shipped one 12 + 16: a gain of 28/24."""
    parts = {"heads": part(12, 12.0), "marginals": part(10, 10.0), "corrected": part(9, 9.0), "ceiling": CEILING}
    found = _record(report, parts)
    rows = {(row["drafter"], row["rule"], row["gamma"]): row for row in found["rows"]}
    assert rows["heads", "tokenwise", 2]["predicted"] == pytest.approx(30 / 28)
    assert rows["heads", "tokenwise", 2]["alike"] == pytest.approx(30 / 26)
    assert rows["marginals", "block", 4]["measured"] == pytest.approx(30 / 22)
    gains = {(gain["gain"], gain["drafter"], gain["rule"]): gain["measured"] for gain in found["gains"]}
    assert gains["block", "marginals", "block"] == pytest.approx(24 / 22)
    assert gains["correction", "corrected", "tokenwise"] == pytest.approx(24 / 22)
    assert found["ceiling"]["tau"] == [2, 2.5, 2.75, 3.25]
    assert found["ceiling"]["any_rule"] == [2, 2.5, 3.25, 4]
    assert (found["verdicts"]["4"], found["verdicts"]["5"], found["missing"]) == (True, True, [])


def test_verdicts_turn(report: ModuleType) -> None:
    """Each criterion is missed where its numbers are wrong, and not judged where they are missing."""
    good = {"heads": part(12, 12.0), "marginals": part(10, 10.0), "corrected": part(9, 9.0), "ceiling": CEILING}
    off = _record(report, good | {"heads": part(12, 20.0)})["verdicts"]
    assert not off["1"]
    assert not _record(report, good | {"heads": part(12, 12.5, 0.0)})["verdicts"]["2"]
    assert not _record(report, good | {"marginals": part(12, 12.0)})["verdicts"]["4"]
    low = _record(report, good | {"heads": part(8, 8.0)})
    low["ceiling"]["any_rule"] = [1.4] * 4
    assert not report.verdicts(low)["5"]
    alone = _record(report, {"heads": good["heads"], "ceiling": CEILING})
    assert alone["verdicts"]["4"] is None
    assert ("marginals", 1.0, "block", 4) in alone["missing"]


def test_the_record_is_that_of_its_rows(report: ModuleType) -> None:
    record = json.loads((BENCH / "one_pass.json").read_text(encoding="utf-8"))
    assert record["verdicts"] == report.verdicts(record)
    greedy = [row for row in record["rows"] if row["temperature"] == 0]
    assert all(row["predicted"] == pytest.approx(row["measured"], abs=1e-6) for row in greedy)
