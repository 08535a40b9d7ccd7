"""`specsim log` and `diagnose` at the terminal: the answer first, files that plan reads, one line for bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.commands.plan.read import read_hazards

pytestmark = pytest.mark.fast

RUNS = Path(__file__).parents[1] / "helpers" / "runs.csv"
ON = "eval time = 1020.0 ms / 51 tokens\ndraft acceptance = 0.6 ( 30 accepted / 60 generated)\n"
OFF = "eval time = 900.0 ms / 50 tokens\n"


def run(*words: object, code: int = 0) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found.stdout if code == 0 else found.stderr


def pair(folder: Path) -> tuple[Path, Path]:
    (folder / "off.log").write_text(OFF)
    (folder / "on.log").write_text(ON)
    return folder / "off.log", folder / "on.log"


def test_the_answer_comes_first(tmp_path: Path) -> None:
    said = run("diagnose", *pair(tmp_path))
    assert said.startswith(
        "Slower (0.90x as measured) because a cycle costs 2.78 plain steps and emits 2.50 tokens: drafting"
    )
    assert "acceptance is not the main cause: with 100 % it would be 1.44x." in said.splitlines()[0]
    assert "to measure: the time of drafting a block and a target pass over 4 tokens" in said


def test_a_file_of_ours_may_hold_both() -> None:
    shown = json.loads(run("diagnose", RUNS, "--json"))
    assert [part["names"] for part in shown["parts"]] == [["drafting"], ["verifying"], ["fixed work"]]
    assert shown["missing"] == []
    assert shown["verdict"] == "slower"
    (measured,) = (mend for mend in shown["mends"] if mend["basis"] == "measured")
    assert measured["what"] == "1 draft a block"
    assert measured["value"] == pytest.approx(112 / 100.5, rel=1e-3)
    assert run("diagnose", RUNS, "--markdown").count("| --- |") == 3


def test_log_gives_what_plan_takes(tmp_path: Path) -> None:
    out = tmp_path / "hazards.csv"
    shown = json.loads(run("log", RUNS, "--json", "--hazards", out))[0]
    assert shown["measures"]["tau"]["value"] == pytest.approx(3.1)
    kept = read_hazards(out)
    assert kept.hazards(4) == pytest.approx(shown["hazards"]["hazards"])
    assert kept.tau(4).value == pytest.approx(3.1)
    assert "By gamma" in run("plan", "--hazards", out, "--cost-ratio", "0.1").replace("by gamma", "By gamma")


def test_log_names_its_numbers(tmp_path: Path) -> None:
    said = run("log", pair(tmp_path)[1], "--length", 4)
    assert "tokens per target call (tau, the mean acceptance length)" in said
    assert "2.500" in said
    assert "share of drafts kept (the acceptance rate of most engines)" in said
    assert "0.500" in said


BAD = {
    "no on": (("diagnose", "off.log"), "off.log holds runs with speculation off only"),
    "twice off": (("diagnose", "off.log", "off.log"), "off.log does not speculate"),
    "twice on": (("diagnose", "on.log", "on.log"), "on.log speculates"),
    "missing": (("diagnose", "none.log", "on.log"), "none.log: No such file or directory"),
    "log of off": (("log", "off.log"), "off.log is of a run without speculation"),
    "no positions": (("log", "on.log", "--hazards", "h.csv"), "on.log has no positions"),
    "forms": (("log", "on.log", "--json", "--markdown"), "--json and --markdown are both given"),
    "level": (("diagnose", "off.log", "on.log", "--level", "1.5"), "level"),
    "noise": (("diagnose", "off.log", "on.log", "--noise", "0"), "noise"),
    "length": (("log", "on.log", "--length", "1"), "3.00 drafts a block, and length is 1; expected no fewer"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_line(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pair(tmp_path)
    monkeypatch.chdir(tmp_path)
    words, said = BAD[case]
    error = run(*words, code=2)
    assert said in error
    assert error.count("\n") == 1
    assert not (tmp_path / "h.csv").exists()


def test_public_functions_take_what_the_command_takes() -> None:
    runs = specsim.read_log(RUNS)
    found = specsim.diagnose([r for r in runs if not r.speculating], [r for r in runs if r.speculating])
    assert found.cause in ("drafting", "verifying", "fixed work")
