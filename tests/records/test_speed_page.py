"""The pages of speed, for users and for developers, say what their records say."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "developer" / "performance.md").read_text(encoding="utf-8").partition("\n## ")[0]
NUMBERS = re.compile(r"\d[\d.,]*\d|\d")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in re.findall(r"^\|.*\|$", PAGE, re.M)[2:]]


def missing(row: list[str]) -> list[str]:
    """Numbers of the column *now* that the record, or a page made of one, does not have."""
    folder = ROOT / ("docs/results" if row[4].endswith(".md") else "tests/bench")
    text = (folder / row[4]).read_text(encoding="utf-8")
    return [n for n in NUMBERS.findall(row[3]) if not re.search(rf"(?<![\d.,]){re.escape(n)}(?![\d,]|\.\d)", text)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_reached_is_recorded(row: list[str]) -> None:
    assert missing(row) == []


def test_a_number_that_nobody_recorded_is_found() -> None:
    assert missing([*ROWS[0][:3], "0.111 to 0.44", ROWS[0][4]]) == ["0.111"]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_what_is_missed_is_bold(row: list[str]) -> None:
    sign, goal = row[1].split()
    reached = [number(n) for n in NUMBERS.findall(row[3].split(", by core")[0])]
    missed = max(reached) > number(goal) if sign == "≤" else min(reached) < number(goal)
    assert ("**" in row[3]) == missed


def number(written: str) -> float:
    return float(written.replace(",", ""))


def test_a_time_for_users_comes_from_its_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    speed = importlib.import_module("_generate.speed")
    (row,) = [row for row in speed.ROWS if row.what.startswith("plan for")]
    monkeypatch.setattr(speed, "BENCH", tmp_path)
    (tmp_path / "start.txt").write_text("specsim --help   0.40   0.11\nspecsim plan, a 70B/1B pair   0.60   0.37\n")
    assert speed.number(row) == "0.37"
    (tmp_path / "start.txt").write_text("specsim --help   0.40   0.11\n")
    with pytest.raises(ValueError, match=r"start.txt has no line for 'plan for a 70B/1B pair'"):
        speed.number(row)
