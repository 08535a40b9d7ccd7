"""Committed records of systems: of these tests, of these weights, with the verdict that their numbers give."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from helpers.toy_system import COIN
from typer.testing import CliRunner

import real.cli
from real import systems
from real.systems import _keep, _report

pytestmark = pytest.mark.fast

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "real" / "results" / "systems"


def problems(folder: Path) -> list[str]:
    """What is wrong with the records of a folder."""
    found = []
    for path in sorted(folder.glob("*.json")):
        held = json.loads(path.read_text(encoding="utf-8"))
        if path.stem not in systems.names():
            found.append(f"{path.stem}: no such system")
            continue
        system = systems.find(path.stem)
        what = held["provenance"]
        if (held["schema"], held["complete"], what["system"]) != (_keep.SCHEMA, True, path.stem):
            found.append(f"{path.stem}: another record")
        elif what["share"] != 1:
            found.append(f"{path.stem}: a trial on {what['share']} of the texts")
        elif held["test"] != system.TEST:
            found.append(f"{path.stem}: another sentence under the same digest")
        elif reason := _keep.stale(held, system):
            found.append(f"{path.stem}: {reason}")
    return found


def test_committed_records_are_good() -> None:
    assert problems(RESULTS) == []


def test_the_page_says_what_the_records_say() -> None:
    page = (ROOT / "docs" / "results" / "systems.md").read_text(encoding="utf-8")
    for name, held in _report.recorded(RESULTS).items():
        system = systems.find(name)
        (row,) = [line for line in page.splitlines() if line.startswith(f"| {system.NAME} | [")]
        assert all(words in row for words in (system.CLAIM, system.TEST, f"**{held['verdict']}**")), name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with the record of a toy system."""
    (tmp_path / "coin.py").write_text(COIN)
    monkeypatch.setattr(systems, "__path__", [*systems.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    out = tmp_path / "out"
    assert CliRunner().invoke(real.cli.app, ["systems", "coin", "--out", str(out)]).exit_code == 0
    yield out
    sys.modules.pop("real.systems.coin", None)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({}, None),
        ({"verdict": "does not show"}, "its verdict is judged otherwise since the record was made"),
        ({"test_hash": "0" * 16}, "its TEST has changed since the record was made"),
        ({"test": "Another sentence."}, "another sentence under the same digest"),
        ({"weights": {"toy": "0" * 16}}, "the weights of toy have changed since the record was made"),
        ({"complete": False}, "another record"),
        ({"provenance": {"system": "coin", "share": 0.1}}, "a trial on 0.1 of the texts"),
    ],
)
def test_the_check_of_records_can_fail(folder: Path, change: dict[str, Any], problem: str | None) -> None:
    path = folder / "coin.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert problems(folder) == ([] if problem is None else [f"coin: {problem}"])


def test_a_record_without_its_system_is_seen(folder: Path) -> None:
    (folder / "coin.json").rename(folder / "die.json")
    assert problems(folder) == ["die: no such system"]
