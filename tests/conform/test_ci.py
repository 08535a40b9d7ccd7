"""What continuous integration reads: JUnit XML and a badge."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers.authors import MINE, RIGHT, conform

from specsim.conform import Report, Verdict, ci
from specsim.conform.verdict import Counterexample

QUICK = ("--property", "marginal")
WRONG = Counterexample("V=2", None, None, None, "token 0", {"token 0": -1.0}, {"token 0": -1.5})


def file(folder: Path, text: str, name: str = "mine.py") -> str:
    path = folder / name
    path.write_text(text)
    return str(path)


def test_junit_and_badge(tmp_path: Path) -> None:
    mine, xml, badge = file(tmp_path, MINE.format(law=RIGHT)), tmp_path / "x.xml", tmp_path / "b.json"
    assert conform(mine, *QUICK, "--property", "batches", "--junit", str(xml), "--badge", str(badge))[0] == 0
    suite = ElementTree.parse(xml).getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("skipped")) == (
        "mine",
        "2",
        "0",
        "1",
    )
    assert json.loads(badge.read_text()) == {
        "schemaVersion": 1,
        "label": "specsim conform",
        "message": "lossless where tried (scripted up to V=300, 1 draft)",
        "color": "brightgreen",
    }


@pytest.mark.parametrize(
    ("outcome", "end", "colour"),
    [
        ("convicted", "failure", "red"),
        ("vacuous", "failure", "lightgrey"),
        ("broken", "error", "red"),
        ("inconclusive", "skipped", "lightgrey"),
        ("not available", "skipped", "lightgrey"),
        ("lossy by design", None, "green"),
        ("lossless", None, "brightgreen"),
    ],
)
def test_how_a_verdict_ends_a_test(outcome: str, end: str | None, colour: str) -> None:
    verdict = Verdict("m", "joint", outcome, "scripted", counterexample=WRONG, words="\x1b[31m<&>\ud800")  # type: ignore[arg-type]
    one = Report("m\x00", (verdict, Verdict("m", "marginal", "lossless", "scripted")))
    root = ElementTree.fromstring(ci.as_junit([one]).encode())
    passed = ["system-out"]
    assert [[child.tag for child in case] for case in root[0].iter("testcase")] == [[end] if end else passed, passed]
    others = Report("other", (Verdict("m", "joint", "lossless"),))
    assert ci.as_badge([others, one._replace(verdicts=(verdict,))])["color"] == colour
    if end == "failure":
        assert "observed, expected" in str(root[0].find("testcase")[0].text), "the counterexample is in it"


BAD = {
    "a syntax error": ("import numpy\ndef subject(:\n", "SyntaxError: line 2: invalid syntax"),
    "an error on import": ("raise RuntimeError('no engine')\n", "no engine"),
    "an exit on import": ("import sys\nsys.exit(0)\n", "SystemExit"),
    "no subject": ("x = 1\n", "has neither subjects() nor subject()"),
    "a subject that is none": ("def subject():\n    return 3\n", "hands over int"),
}


@pytest.mark.parametrize("what", BAD)
def test_what_cannot_be_read_is_an_error_in_ci(what: str, tmp_path: Path) -> None:
    """Without the files CI shows nothing, or those of the run before."""
    text, words = BAD[what]
    mine, xml, badge = file(tmp_path, text), tmp_path / "x.xml", tmp_path / "b.json"
    status, said = conform(mine, "--junit", str(xml), "--badge", str(badge))
    assert (status, words in " ".join(said.split())) == (3, True), said
    suite = ElementTree.parse(xml).getroot()[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("errors")) == (mine, "1", "1")
    (error,) = suite.iter("error")
    assert words in str(error.get("message"))
    shown = json.loads(badge.read_text())
    assert (shown["message"], shown["color"]) == ("bad input", "red")


@pytest.mark.parametrize("words", [("no.py",), ("rejectoin",), ("rejection", "--budget", "x"), ("--counts", "no")])
def test_other_bad_input_is_an_error_in_ci(words: tuple[str, ...], tmp_path: Path) -> None:
    xml, badge = tmp_path / "x.xml", tmp_path / "b.json"
    assert conform(*words, "--junit", str(xml), "--badge", str(badge))[0] == 3
    assert len(list(ElementTree.parse(xml).iter("error"))) == 1
    assert json.loads(badge.read_text())["message"] == "bad input"
