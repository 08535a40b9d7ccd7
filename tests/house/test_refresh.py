"""What `docs/refresh.py` writes from records: verdicts, shares, folded sentences, and no answer of a failed command."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def refresh(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """docs/refresh.py."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("refresh")


def test_a_load_that_fails_its_test_is_said_to_fail(refresh: ModuleType) -> None:
    times = dict.fromkeys(("median", "median_with_interval", "worst", "in_interval", "median_outside"), 0.012)
    verdict: dict[str, Any] = {"first": times, "token": times, "total": times, "inside": 3, "points": 4}
    record = {"runs": [2, 8], "requests": 100, "command": "python bench.py"}
    said = {passed: refresh._load(record | {"verdict": verdict | {"passed": passed}}) for passed in (True, False)}
    assert "The test is passed: `python bench.py`." in said[True]
    assert "The test is not passed: `python bench.py`." in said[False]
    assert said[True].count("1.2%") == 15
    assert "3 of 4 points are inside; 2 to 8 runs of 100 requests each." in said[True]


def test_a_goal_of_studies_is_held_missed_or_not_tried(refresh: ModuleType) -> None:
    record: dict[str, Any] = {
        "points": {"processes": [[10, 1.0], [100, 9.0]], "dask": [[10, 2.0], [100, 12.0]]},
        "workers": {"processes": [[1, 17.0]], "dask": [[1, 20.0]]}, "goal_s": 60, "cores": 2,
    }  # fmt: skip
    said = {held: refresh._studies(record | {"held": held}).splitlines()[0] for held in (True, False, None)}
    assert [words.partition(":")[0] for words in said.values()] == [
        "The goal is held",
        "The goal is missed",
        "The goal is not tried",
    ]
    assert "100 points on two processes took 9.0 s, and may take 60 s (2 cores)." in said[True]


def test_sentences_are_folded_and_rows_are_not(refresh: ModuleType) -> None:
    sentence, row = "- " + "a word " * 30, "batch  context  " + "1.23  " * 30
    lines = refresh._folded(sentence).splitlines()
    assert all(len(line) <= 100 for line in lines)
    assert all(line.startswith("  a") or line.startswith("  word") for line in lines[1:])
    assert refresh._folded(row) == row


def test_what_a_failed_command_prints_is_on_no_page(refresh: ModuleType) -> None:
    assert refresh._output("specsim plan 0.8 --cost-ratio 0.05").startswith("Yes: ")
    with pytest.raises(ValueError, match=r"^specsim plan 1\.2 --cost-ratio 0\.05 ended with status 2"):
        refresh._output("specsim plan 1.2 --cost-ratio 0.05")
