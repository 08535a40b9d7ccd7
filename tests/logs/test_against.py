"""`specsim log A --against B`: which drafter is better, on what that rests, and how many prompts show it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from helpers.log_files import lines
from typer.testing import CliRunner

from specsim.cli import app
from specsim.logs.against import compare_logs, pairs_of_runs
from specsim.logs.record import EngineLog

TOTALS = EngineLog("own", "a.csv", True, length=2, blocks=1000, drafted=2000, accepted=1300, kept=(800, 500))


def question(number: int, lengths: list[int]) -> dict[str, Any]:
    choice = {"index": 0, "turns": ["x"], "new_tokens": [sum(lengths)], "wall_time": [1.0], "accept_lengths": lengths}
    return {"question_id": number, "choices": [choice]}


def run(*words: str) -> str:
    result = CliRunner().invoke(app, ["log", *words])
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    ours = [[1, 3, 2], [4, 4, 1, 1], [2, 2], [1, 1, 1, 2]]
    paths = tmp_path / "a.jsonl", tmp_path / "b.jsonl"
    for path, more in zip(paths, (0, 1), strict=True):
        path.write_text(lines(*[question(i, [n + more for n in row]) for i, row in enumerate(ours)]))
    return paths


def test_the_command_says_which_is_better_and_how_many_prompts_it_takes(files: tuple[Path, Path]) -> None:
    ours, theirs = map(str, files)
    said = run(ours, "--against", theirs)
    assert "b.jsonl emits 52.0 % more tokens per target call than a.jsonl [+" in said
    assert "paired over 4 shared prompts: for sure." in said
    assert "blocks of 3 and of 4 drafts: a longer block costs more time" in said
    assert "1 %" in said
    assert "prompts needed" in said
    held = json.loads(CliRunner().invoke(app, ["log", ours, "--against", theirs, "--json"]).output)
    assert held["schema"] == "specsim/log-against/1"
    assert held["ratio"]["value"] == pytest.approx(38 / 25)
    assert [row["difference"] for row in held["needed"]] == [0.01, 0.02, 0.05]


def test_a_log_without_requests_is_compared_by_its_blocks() -> None:
    better = TOTALS._replace(source="b.csv", accepted=1400, kept=(800, 600))
    found = compare_logs(TOTALS, better)
    assert found.ratio.value == pytest.approx(2.4 / 2.3)
    assert (found.basis, found.unit, found.mean_ratio) == ("blocks independent", "blocks", None)
    assert found.ratio.low is not None
    assert found.ratio.low > 1
    assert any("1.4 to 6.7 times as wide" in note for note in found.notes)
    # The blocks that 4.3 % took: fewer than 1,000 of each show 5 %.
    assert found.needed[2].prompts < 1000 < found.needed[1].prompts


def test_logs_that_are_alike_do_not_say_how_many_prompts_a_difference_needs(files: tuple[Path, Path]) -> None:
    """Two prompts were said to be enough to see 1 %."""
    ours = str(files[0])
    said = run(ours, "--against", ours)
    assert "a.jsonl (second) emits as many tokens per target call as a.jsonl (first) [+0.0, +0.0 %]" in said
    assert "prompts needed" not in said
    assert "how many prompts a difference needs is not known" in said


def test_runs_are_paired_one_by_one_or_not_at_all() -> None:
    other = TOTALS._replace(source="b")
    assert pairs_of_runs([TOTALS], [other, other]) == [(TOTALS, other)] * 2
    with pytest.raises(ValueError, match=r"a\.csv is one of 2 runs and b of 3; expected one run, or as many in both"):
        pairs_of_runs([TOTALS] * 2, [other] * 3)


def test_what_the_comparison_leaves_out_is_said(files: tuple[Path, Path], tmp_path: Path) -> None:
    ours, theirs = files
    fewer = tmp_path / "c.jsonl"
    fewer.write_text("\n".join(theirs.read_text().splitlines()[1:]) + "\n" + lines(question(9, [5, 5])))
    said = run(str(ours), "--against", str(fewer))
    assert "1 and 1 requests whose prompt the other log lacks are left out" in said
    strangers = tmp_path / "d.jsonl"
    strangers.write_text(lines(*[question(i, [2, 3, 1]) for i in range(20, 26)]))
    said = run(str(ours), "--against", str(strangers), "--gamma", "5")
    assert "over 4 and 6 requests: which may be noise" in said or "for sure" in said
    assert "no prompt is known to be in both logs" in said
