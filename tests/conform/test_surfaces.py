"""Wherever a subject is called lossless, the same sentence says where that was tried."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from helpers.authors import MINE, RIGHT, conform

from specsim.conform import Report, Verdict, ci, page, record, report
from specsim.conform.museum import table

ROOT = Path(__file__).parents[2]
QUICK = ("--property", "marginal", "--property", "larger")
# Of these verdicts the sentence is about the whole subject; a row of one property has its reach in the row.
REACH = re.compile(r"\bV=\d+, \d+ draft")
# Words that say of nothing in particular what the verdict means.
DEFINITIONS = ("The property holds, as far as evidence and reach say.",)


def sentences(text: str) -> list[str]:
    """Lines, without those that define the verdict or only name a file or an option."""
    return [line for line in text.splitlines() if "lossless" in line and not any(one in line for one in DEFINITIONS)]


@pytest.fixture(scope="module")
def surfaces(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The sentences of every surface of the command that call the subject lossless."""
    folder = tmp_path_factory.mktemp("reach")
    mine = folder / "mine.py"
    mine.write_text(MINE.format(law=RIGHT))
    names = {"html": "r.html", "junit": "r.xml", "badge": "r.json", "certificate": "r.cert"}
    files = {name: folder / file for name, file in names.items()}
    options = [word for name, file in files.items() for word in (f"--{name}", str(file))]
    code, text = conform(str(mine), *QUICK, *options)
    assert code == 0
    markdown = conform(str(mine), *QUICK, "--markdown")[1]
    (held,) = json.loads(conform(str(mine), *QUICK, "--json")[1])["reports"]
    checked = conform(str(mine), "--check", str(files["certificate"]))[1]
    checked_json = json.loads(conform(str(mine), "--check", str(files["certificate"]), "--json")[1])
    html = re.sub(r"</tr>|</h\d>|</p>", "\n", files["html"].read_text())
    xml = ElementTree.parse(files["junit"]).getroot()
    return {
        "text": sentences(text),
        "markdown": sentences(markdown),
        "json": [held["words"], *(f"{one['outcome']}: {one['reach']}" for one in held["verdicts"])],
        "html": sentences(unescape(re.sub(r"<[^>]*>", " ", html.partition("</style>")[2]))),
        "junit": sentences("\n".join([*xml.itertext(), *(one.get("value", "") for one in xml.iter("property"))])),
        "badge": sentences(files["badge"].read_text()),
        "certificate": [one["words"] for one in json.loads(files["certificate"].read_text())["reports"]],
        "--check": sentences(checked),
        "--check --json": checked_json["outcomes"],
    }


TITLE = "Is it lossless?"
SURFACES = ("text", "markdown", "json", "html", "junit", "badge", "certificate", "--check", "--check --json")


@pytest.mark.parametrize("name", SURFACES)
def test_lossless_is_never_said_without_its_reach(name: str, surfaces: dict[str, list[str]]) -> None:
    said = [line for line in surfaces[name] if line.strip() != TITLE]
    assert said, "it says nothing"
    assert surfaces.keys() == set(SURFACES)
    for line in said:
        assert "lossless" in line
        assert REACH.search(line), line


@pytest.mark.parametrize("name", ["text", "html", "badge", "--check", "certificate"])
def test_larger_sizes_are_in_the_sentence(name: str, surfaces: dict[str, list[str]]) -> None:
    """Or that they were not tried."""
    whole = [line for line in surfaces[name] if "lossless where" in line]
    assert whole
    assert all("V=300" in line and "V=1000, 1 draft" in line for line in whole)


def test_what_was_not_tried_is_in_the_sentence() -> None:
    without = Verdict("m", "larger", "not available", words="larger sizes were not tried: no time for V=65, 1 draft")
    one = Report("m", (Verdict("m", "joint", "lossless", "scripted", "V=3, 2 drafts"), without))
    assert report.outcome(one) == (
        "lossless where it was tried (scripted: V=3, 2 drafts; larger sizes were not tried: no time for V=65, 1 draft)"
    )
    assert report.short([one]) == "lossless where tried (scripted up to V=3, 2 drafts)"


def test_several_subjects_have_the_reach_of_each() -> None:
    """The smallest of them, and only of evidence that all of them have."""

    def one(*reaches: tuple[Any, str]) -> Report:
        return Report("m", tuple(Verdict("m", "joint", "lossless", kind, reach) for kind, reach in reaches))

    some = [
        one(("scripted", "V=8, 1 draft; V=3, 4 drafts"), ("Monte Carlo", "V=65, 8 drafts (9 runs)")),
        one(("scripted", "V=5, tree [-1, -1]; V=3, tree [-1, 0, 0]")),
    ]
    assert report.short(some) == "lossless where tried (scripted up to V=5, 3 drafts)"
    assert ci.as_badge(some)["message"] == report.short(some)
    assert report.short([one(("scripted", ""))]) == f"lossless {report.NO_REACH}"
    measured = Verdict("m", "degenerate", "measured", "one call", words="token 2 comes out")
    edge = Report("m", (Verdict("m", "joint", "lossless", "scripted", "V=3, 1 draft"), measured))
    assert report.short([edge]).endswith("; but not at the ends of its coins")


@pytest.mark.parametrize("outcome", ["lossless", "convicted", "vacuous"])
def test_a_report_without_reach_says_so(outcome: Any) -> None:
    one = Report("m", (Verdict("m", "joint", outcome, "scripted"),))
    html = page.page([one], {})
    for said in (report.outcome(one), report.short([one]), report.line(one.verdicts[0]), report.rows(one)[1][-1], html):
        assert (report.NO_REACH in said) is (outcome == "lossless")


def rows(path: str) -> Iterator[str]:
    """Rows of a table that call a subject lossless in their last cell."""
    for line in (ROOT / path).read_text(encoding="utf-8").splitlines():
        if line.startswith("| `") and line.rstrip(" |").rpartition("| ")[2].startswith("lossless"):
            yield line


@pytest.mark.parametrize("path", ["docs/results/conform.md", "docs/results/museum.md"])
def test_tables_of_the_site(path: str) -> None:
    found = list(rows(path))
    assert len(found) > 10
    for line in found:
        assert re.search(r"lossless where tried \(\w.* up to V=\d+, \d+ draft", line), line


def test_what_makes_the_tables() -> None:
    held = {"subject": "m", "outcome": "lossless"}
    verdict = {"property": "joint", "outcome": "lossless", "evidence": "scripted", "reach": "V=3, 2 drafts"}
    said = "lossless where tried (scripted up to V=3, 2 drafts)"
    assert record._outcome_words(held | {"verdicts": [verdict]}) == said
    one = Report("m", (Verdict("m", "joint", "lossless", "scripted", "V=3, 2 drafts"),))
    assert f"| {said} |" in table.row("residual_padded", one)
