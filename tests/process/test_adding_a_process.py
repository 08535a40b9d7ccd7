"""Adding a process is one file: the skeleton of the docs, by its path or in the folder; and what the commands say."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
from typer.testing import CliRunner

import specsim
import specsim.cli
import specsim.process as family
from specsim import discover, fill, guarantee
from specsim.report import tables

SKELETON = Path(__file__).parents[2] / "docs" / "developer" / "skeletons" / "process.py"
COIN = [Fraction(1, 3), Fraction(2, 3)]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A second directory of the package, with the skeleton in it."""
    (tmp_path / "own.py").write_text(SKELETON.read_text(encoding="utf-8"))
    monkeypatch.setattr(family, "__path__", [*family.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield tmp_path
    sys.modules.pop(f"{family.__name__}.own", None)


def test_it_needs_no_folder() -> None:
    found = fill(COIN, SKELETON, length=3, rule="block", params={"slots": 2})
    assert (found.bias, found.law[1, 1, 1]) == (0, Fraction(8, 27))
    assert guarantee("tokenwise", process=str(SKELETON)).lossless


def test_it_is_found_in_the_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "rules_of_laws", list)  # their verdicts take seconds
    assert "own" in discover.names("process")
    assert fill(COIN, "own", length=3).bias == 0
    (row,) = (row for row in tables.rules_rows() if row[0] == "own")
    assert row == ["own", "process", "its own", "yes", "", "no", ""]


def said(*words: str) -> str:
    return CliRunner().invoke(specsim.cli.app, ["check", *words]).output


def test_the_command_checks_it() -> None:
    own = said(str(SKELETON), "--param", "slots=1")
    assert "pass  law_is_the_targets" in own
    assert " 0 failed" in own
    assert " 0 failed" in said("frames", "--param", "frames=2")
    assert " 0 failed" in said("jacobi", "--family", "process", "--param", "first=up", "--param", "width=2")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("jacobi", "--param", "slots=2"), "process 'jacobi' has no parameter 'slots'; known: window, first, width"),
        (("jacobi", "--family", "chain"), "rule 'jacobi' is unknown; chain rules: "),
        (("frames", "--step", "rejection"), "process rule 'frames' asks for no step rule, got step='rejection'"),
        (("spiral",), "rule 'spiral' is unknown; did you mean 'typical'? step rules: "),
    ],
)
def test_wrong_words_end_in_one_line(words: tuple[str, ...], line: str) -> None:
    run = CliRunner().invoke(specsim.cli.app, ["check", *words])
    assert run.exit_code == 2
    assert line in " ".join(run.output.split())
    assert "Traceback" not in run.output


@pytest.mark.parametrize(
    ("call", "line"),
    [
        (lambda: guarantee("tokenwise", process="jacobi", num_drafts=2), "^num_drafts is no argument where a process"),
        (lambda: guarantee("tokenwise", process="jacobi", scheme="iid"), "^scheme is no argument where a process"),
        (lambda: guarantee("tokenwise", process_params={"window": 2}), r"^process_params=\{'window': 2\} are"),
        (
            lambda: guarantee("tokenwise", process="jacobi", process_params={"k": 2}),
            "^process 'jacobi' has no parameter",
        ),
        (lambda: guarantee("tokenwise", process="jacobi", process_params={"window": 0}), "^window must be at least 1"),
        (lambda: guarantee("traversal", process="jacobi"), "^rule 'traversal' is a tree rule, not a chain rule; "),
        (lambda: guarantee(discover.find("process", "jacobi")), "^rule 'jacobi' is a process, not a step rule$"),
    ],
)
def test_what_a_verdict_cannot_be_asked(call: object, line: str) -> None:
    with pytest.raises(ValueError, match=line):
        call()  # type: ignore[operator]


def test_a_verdict_takes_parameters() -> None:
    assert guarantee("tokenwise", process="jacobi", process_params={"carry": "old"}).lossless
    with pytest.raises(ValueError, match=r"^carry 'old' keeps tokens that rule 'block' has looked at"):
        guarantee("block", process="jacobi", process_params={"carry": "old"})
    assert not guarantee("lumina", process="jacobi", params={"clamp": 1}).lossless
    assert specsim.guarantee("rejection", process="left_to_right").lossless
