"""`--html OUT`: one file with everything in it, which asks nobody for anything and escapes what users say."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

import specsim
from specsim.cli import app
from specsim.conform import Report, Subject, Verdict, judge
from specsim.conform.page import page
from specsim.conform.verdict import Counterexample

WRONG = """
from specsim.conform import Subject

def mine(p, q, drafts, random):
    x = drafts[0]
    return x if random.random() * q[x] < p[x] else random.choice(len(p), p=p)

def subject():
    return Subject("<mine> & 'yours'", "step", mine, sizes=(1,))
"""
ASKS = {"src", "href", "action", "data", "poster", "srcset", "background", "formaction", "ping", "cite", "manifest"}
VOID = {"meta", "br", "hr", "img", "link", "input"}


class Page(HTMLParser):
    """Words by tag, attributes, and whether every tag is closed where it should be."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words: list[tuple[str, str]] = []
        self.asks: list[str] = []
        self.tags: list[str] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.asks += [f"{tag} {name}={value}" for name, value in attrs if name in ASKS or name.startswith("on")]
        self.asks += [f"{tag} {name}={value}" for name, value in attrs if "url(" in (value or "")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.words.append((self.open[-1], data.strip()))


def checked(text: str) -> Page:
    """A page that is well formed and asks for nothing."""
    found = Page(text)
    assert found.open == []
    assert found.asks == []
    assert not {"script", "link", "img", "iframe", "object", "embed", "base", "form"} & set(found.tags)
    (style,) = (words for tag, words in found.words if tag == "style")
    assert not re.search(r"@import|url\(|//", style)
    assert "default-src 'none'" in text
    return found


def said(found: Page) -> str:
    return " | ".join(words for tag, words in found.words if tag not in ("style", "title"))


def run(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["conform", *words])
    return result.exit_code, result.output


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    mine, out = tmp_path / "mine.py", tmp_path / "new" / "report.html"
    mine.write_text(WRONG)
    status, printed = run(str(mine), "--property", "marginal", "--html", str(out))
    assert status == 1
    assert "<mine>" in printed
    found = checked(out.read_text(encoding="utf-8"))
    words = said(found)
    assert "<mine> & 'yours'" in words, "escaped, and shown as it is"
    for part in ("convicted", "marginal", "scripted", "V=2, 1 draft", "expected", "observed", "residual_is_target"):
        assert part in words, part
    assert f"specsim | {specsim.__version__}" in words
    assert "1e-06 of the whole report" in words
    assert "prefers-color-scheme: dark" in out.read_text(encoding="utf-8")


def test_expected_and_observed_stand_in_their_columns() -> None:
    def taken(p: object, q: object, drafts: list[int], random: object) -> int:
        return drafts[0]

    report = judge(Subject("taken", "step", taken, sizes=(1,)), properties=["marginal"])
    shown = report.verdicts[0].counterexample
    assert shown is not None
    cells = [words for tag, words in checked(page([report], {})).words if tag == "td"]
    first = cells.index("(0)")
    assert cells[first : first + 4] == ["(0)", "1/2", "1/3", "-0.1667"]


@pytest.mark.parametrize("words", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</td></table>&amp;"])
def test_users_words_are_escaped(words: str) -> None:
    verdict = Verdict(words, "marginal", "broken", reach=words, words=words)
    found = checked(page([Report(words, (verdict,))], {words: words}))
    assert said(found).count(words) == 5


def test_words_of_a_counterexample_are_escaped() -> None:
    """A user's file names its cases, and its outcomes are what it returns."""
    case = "<script>alert(1)</script>"
    shown = Counterexample(case, None, None, None, case, {case: 0.5}, {case: 0.25})
    verdict = Verdict("mine", "marginal", "convicted", "scripted", "", 1, 0.25, shown)
    found = checked(page([Report("mine", (verdict,))], {}))
    assert said(found).count(case) >= 2


def test_an_interrupted_run_says_so() -> None:
    assert "interrupted" in said(checked(page([Report("mine", (), complete=False)], {})))


@pytest.mark.parametrize(
    ("out", "words"),
    [("report.txt", "must end in .html"), ("", "is a directory"), ("mine.py/report.html", "cannot be written")],
)
def test_a_bad_path_is_refused_before_any_work(out: str, words: str, tmp_path: Path) -> None:
    """The file of the subject is not even read: reading this one would fail."""
    mine = tmp_path / "mine.py"
    mine.write_text("1 / 0")
    for option in ("--html", "--certificate")[: 1 if out == "report.txt" else 2]:
        status, printed = run(str(mine), option, str(tmp_path / out))
        assert status == 3
        assert words in " ".join(printed.split())
        assert "ZeroDivisionError" not in printed


def test_a_page_of_no_judgement_is_refused(tmp_path: Path) -> None:
    status, printed = run("--list", "--html", str(tmp_path / "x.html"))
    assert (status, "--list and --check judge nothing" in printed) == (3, True)


def test_a_log_has_a_page(tmp_path: Path) -> None:
    log, out = tmp_path / "log.jsonl", tmp_path / "log.html"
    log.write_text('{"p": [0.2], "q": [0.4], "kept": 1}\n' * 100)
    assert run("--counts", str(log), "--html", str(out))[0] == 1
    assert "kept drafts" in said(checked(out.read_text(encoding="utf-8")))
