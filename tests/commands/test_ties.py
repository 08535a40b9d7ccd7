"""Runs that are equal, or differ by less than their noise, are said to be so by every command that compares."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from specsim.cli import app
from specsim.commands.log_against import is_tie
from specsim.logs.record import EngineLog
from specsim.speed.two_runs import compare_runs

HEAD = "speculation,length,batch,blocks,drafted,accepted,tokens_per_s\n"


def run(*words: object) -> str:
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == 0, found.output
    return found.stdout


def files(folder: Path, *rows: str) -> list[Path]:
    paths = [folder / f"{name}.csv" for name in "abc"[: len(rows)]]
    for path, row in zip(paths, rows, strict=True):
        path.write_text(HEAD + row + "\n")
    return paths


EQUAL = "on,3,1,100,300,200,20"


def test_equal_runs_are_said_to_be_equal(tmp_path: Path) -> None:
    """The case: "acceptance is worse (3.000 against 3.000 tokens a cycle)"."""
    a, b = files(tmp_path, EQUAL, EQUAL)
    assert run("diagnose", a, b).startswith(
        "b.csv is as fast as a.csv: a cycle takes 150 against 150 ms (x 1.00); acceptance is the same (3.000 against "
        "3.000 tokens a cycle, x 1.000).\n"
    )
    said = run("log", a, "--against", b)
    assert said.startswith("b.csv emits as many tokens per target call as a.csv [-12.2, +14.0 %], blocks independent.")


@pytest.mark.parametrize(
    ("accepted", "rate", "words"),
    [
        (190, 20, "acceptance is worse (2.900 against 3.000 tokens a cycle, x 0.967, which may be noise)"),
        (210, 20, "acceptance is better (3.100 against 3.000 tokens a cycle, x 1.033, which may be noise)"),
        (40, 20, "acceptance is worse (1.400 against 3.000 tokens a cycle, x 0.467)"),
        (200, 20.5, "is 1.025x as fast as a.csv, which may be noise: a cycle takes 146 against 150 ms (x 0.98, which "),
    ],
)
def test_what_is_within_the_noise_is_said_so(accepted: int, rate: float, words: str, tmp_path: Path) -> None:
    a, b = files(tmp_path, EQUAL, f"on,3,1,100,300,{accepted},{rate}")
    assert words in run("diagnose", a, b)


def test_a_cause_that_may_be_noise_is_not_named(tmp_path: Path) -> None:
    """10 % slower for sure; cycle and acceptance each by 5 %, of 20 blocks: neither is certain."""
    a, b = files(tmp_path, "on,3,1,20,60,40,20", "on,3,1,20,60,37,17.9")
    said = run("diagnose", a, b)
    assert "b.csv is 0.895x as fast as a.csv; which of two factors is the cause is not certain: a cycle" in said
    assert json.loads(run("diagnose", a, b, "--json"))["cause"] == ""


def test_no_batch_is_to_be_switched_off_within_the_noise(tmp_path: Path) -> None:
    """0.99 [0.94, 1.05] at a batch of 64 is no reason; 0.80 is one."""
    rows = "off,,{0},,,,{1}\non,3,{0},100,300,200,{2}\n"
    path = tmp_path / "runs.csv"
    for slow, advised in ((0.99, False), (0.80, True)):
        # At 8 requests it is slower within the noise: advice begins behind it.
        even = rows.format(8, 80, 79)
        path.write_text(HEAD + rows.format(1, 10, 20) + even + rows.format(64, 640, 640 * slow))
        assert ("switch it off from batch 64 on" in run("diagnose", path)) is advised


def test_a_ratio_that_prints_as_one_is_a_tie() -> None:
    assert is_tie(1.0004)
    assert is_tie(0.9996)
    assert not is_tie(1.001)


def test_the_cause_of_runs_that_differ_for_sure_is_named() -> None:
    from specsim.latency import Timing

    old = EngineLog("own", "old", True, length=3, tau=Timing(2.0, 0.01), token=Timing(0.01, 1e-5))
    assert compare_runs(old, old._replace(tau=Timing(1.5, 0.01), token=Timing(0.0134, 1e-5))).cause == "acceptance"


def test_a_length_that_the_log_contradicts_is_said_not_to_be_used(tmp_path: Path) -> None:
    a, b = files(tmp_path, EQUAL, EQUAL)
    off = tmp_path / "off.csv"
    off.write_text(HEAD + "off,1,,,,,10\n".replace("off,1,", "off,,"))
    words = "a.csv has 3 drafts in every block: gamma, given as 5, is not used"
    for command in (("log", a), ("diagnose", a, b), ("diagnose", off, a)):
        assert words in run(*command, "--gamma", 5)
        assert words not in run(*command, "--gamma", 3)
