"""The project can be cited: its entries agree, and the paper of every rule has one in docs/cite.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import specsim
from specsim import discover

ROOT = Path(__file__).parents[2]
ENTRY = re.compile(r"^@(\w+)\{(\w+),\n(.*?)^\}", re.M | re.S)
FIELD = re.compile(r"^  (\w+) = \{(.*)\},$", re.M)


def entries(page: str) -> dict[str, dict[str, str]]:
    """Key -> fields of every BibTeX entry of a page."""
    return {key: dict(FIELD.findall(fields)) for _, key, fields in ENTRY.findall(page)}


def cited() -> dict[str, set[str]]:
    """Number on arXiv -> the modules whose docstring or PAPER names it, as 'step rejection'."""
    modules: dict[str, set[str]] = {}
    for family in discover.FAMILIES:
        for name, module in discover.rules(family).items():
            text: Any = f"{module.__doc__} {getattr(module, 'PAPER', '')}"
            for number in re.findall(r"\d{4}\.\d{5}", text):
                modules.setdefault(number, set()).add(f"{family} {name}")
    return modules


def wrong(page: str) -> list[str]:
    """What is wrong with the papers of a page: missing, cited by other modules, or without a fact."""
    papers = [fields for key, fields in entries(page).items() if key != "specsim"]
    listed = {fields["eprint"]: set(fields["keywords"].split(", ")) for fields in papers}
    modules = cited()
    numbers = [number for number in {*listed, *modules} if listed.get(number) != modules.get(number)]
    years = [fields["eprint"] for fields in papers if fields["year"] != f"20{fields['eprint'][:2]}"]
    bare = [fields["eprint"] for fields in papers if not (fields["author"] and fields["title"])]
    return [*numbers, *years, *bare]


def test_every_paper_of_a_rule_has_an_entry() -> None:
    page = (ROOT / "docs" / "cite.md").read_text(encoding="utf-8")
    assert len(entries(page)) == page.count("@misc{") + page.count("@software{") >= 25
    assert wrong(page) == []
    for right, other, number in (
        ("eprint = {2403.10444}", "eprint = {2403.10445}", "2403.10444"),
        ("keywords = {step kseq, step optimal, tree tokenwise}", "keywords = {step kseq}", "2310.15141"),
        ("year = {2018}", "year = {2019}", "1811.03115"),
    ):
        assert right in page
        assert number in wrong(page.replace(right, other))


def test_the_entries_of_the_project_agree() -> None:
    """CITATION.cff, its preferred citation and BibTeX have one title, version, year and author."""
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    project = entries((ROOT / "docs" / "cite.md").read_text(encoding="utf-8"))["specsim"]
    titles = re.findall(r'^ *title: "(.*)"$', cff, re.M)
    assert titles == [project["title"]] * 2
    assert re.findall(r"^ *version: (.*)$", cff, re.M) == [specsim.__version__] * 2 == [project["version"]] * 2
    assert re.findall(r"^ *- name: (The .*)$", cff, re.M) == [project["author"].strip("{}")] * 2
    (year, month) = re.findall(r"^date-released: (\d{4})-(\d\d)-\d\d$", cff, re.M)[0]
    assert (f"  year: {year}\n" in cff, f"  month: {int(month)}\n" in cff, project["year"]) == (True, True, year)
    assert f"## {specsim.__version__} - {year}-{month}-" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
