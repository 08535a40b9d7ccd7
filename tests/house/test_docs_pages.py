"""What pages of the site say is held to the code: names, records, citations. No build is needed."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import json
import re
import sys
import typing
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
from helpers.rule_pages import lacking
from typer.testing import CliRunner

import specsim
import specsim.testing
from specsim import discover
from specsim.base import imports
from specsim.cli import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PUBLIC = ("specsim", "specsim.continuous", "specsim.trees", "specsim.testing", "real")
CITED = re.compile(r"theory/(\w+)\.md,?(?: section)?\s*(\d+[a-z]?(?:\.\d)?)?")


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def recorder() -> ModuleType:
    """docs/_generate/checks.py, which reads the files of specsim once."""
    return load(DOCS / "_generate" / "checks.py")


def documented() -> dict[str, set[str]]:
    """Package -> names that a page of docs/api documents."""
    found: dict[str, set[str]] = {}
    for path in (DOCS / "api").glob("*.md"):
        for part in path.read_text(encoding="utf-8").split(".. currentmodule:: ")[1:]:
            package = part.split()[0]
            found.setdefault(package, set()).update(re.findall(r"^\.\. auto\w+:: (\w+)", part, re.M))
    return found


@pytest.mark.parametrize("package", PUBLIC)
def test_every_public_name_is_in_the_api(package: str) -> None:
    """A name that is exported again by another package counts there, too."""
    if package == "real":
        pytest.importorskip("torch")
    module, pages = importlib.import_module(package), documented()
    read = [p for p in pages if p != "real" or package == "real"]
    everywhere = {id(getattr(importlib.import_module(p), name)) for p in read for name in pages[p]}
    assert [name for name in module.__all__ if id(getattr(module, name)) not in everywhere] == []


def test_every_record_that_a_public_function_returns_is_in_the_api() -> None:
    """A docstring that names a record names one whose fields are described."""
    pages = documented()
    everywhere = {
        id(getattr(importlib.import_module(package), name))
        for package, names in pages.items()
        if package != "real" and not package.startswith("real.")
        for name in names
    }
    functions = [value for name in specsim.__all__ if inspect.isfunction(value := getattr(specsim, name))]
    returned = {function.__name__: typing.get_type_hints(function).get("return") for function in functions}
    records = {
        (name, kind.__name__): id(kind)
        for name, answer in returned.items()
        for kind in (answer, *typing.get_args(answer))
        if inspect.isclass(kind) and kind.__module__.startswith("specsim")
    }
    assert len(records) > 60
    assert [place for place, record in records.items() if record not in everywhere] == []


def test_the_index_of_the_api_lists_what_its_pages_have() -> None:
    index = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    rows = {page: set(re.findall(r"`(\w+)`", line)) for page, line in re.findall(r"\((\w+)\.md\)(.*)", index)}
    for page, names in rows.items():
        text = (DOCS / "api" / f"{page}.md").read_text(encoding="utf-8")
        assert names == set(re.findall(r"^\.\. auto\w+:: (\w+)", text, re.M)), page


def test_tables_are_those_of_the_records() -> None:
    """`python docs/refresh.py` writes them anew."""
    pytest.importorskip("torch")
    stale = [path.name for path, text in load(DOCS / "refresh.py").pages().items() if path.read_text("utf-8") != text]
    assert stale == []


def test_recorded_checks_are_of_these_rules() -> None:
    """`python docs/_generate/checks.py` runs those that are missing, and drops what is gone."""
    checks = recorder()
    stale, failed = [], []
    for family in discover.FAMILIES:
        for name in discover.names(family):
            findings = checks.recorded(family, name)
            if findings is None:
                stale.append(f"{family}/{name}")
            failed += [f"{family}/{name}: {check}" for check, state, _ in findings or [] if state == "FAIL"]
    assert (stale, failed) == ([], [])


def test_a_changed_rule_has_no_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checks = recorder()
    record = tmp_path / "checks.json"
    found = {"step/rejection": {"source": checks.digest("step", "rejection"), "findings": []}}
    record.write_text(json.dumps(found))
    monkeypatch.setattr(checks, "RECORD", record)
    assert checks.recorded("step", "rejection") == []
    found["step/rejection"]["source"] = "another"
    record.write_text(json.dumps(found))
    assert checks.recorded("step", "rejection") is None


@pytest.mark.parametrize(
    ("rule", "module", "counts"),
    [
        ("step/rejection", "specsim.verify.step.rejection", True),
        ("step/rejection", "specsim.checks.step", True),
        ("step/rejection", "specsim.testing.statistics", True),  # what checks share
        ("step/rejection", "specsim.base.arrays", True),  # what rules share
        ("step/rejection", "specsim.draft.iid", True),  # found by its name
        ("step/rejection", "specsim.verify.step.typical", False),
        ("step/rejection", "specsim.checks.tree", False),
        ("tree/tokenwise", "specsim.verify.tree._walk", True),
        ("tree/tokenwise", "specsim.verify.step.spechub", True),
        ("tree/tokenwise", "specsim.draft.hub", True),
        ("draft/hub", "specsim.checks.draft", True),
    ],
)
def test_a_change_of_what_a_result_depends_on_shows(
    rule: str, module: str, counts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    checks = recorder()
    honest, before = imports.code, checks.digest(*rule.split("/"))
    monkeypatch.setattr(imports, "code", lambda name: "changed" if name == module else honest(name))
    assert (checks.digest(*rule.split("/")) != before) == counts


@pytest.mark.parametrize(("rule", "names"), [("step/rejection", ("contract", "edges", "batches")),
                                             ("tree/tokenwise", ("contract", "batches"))])  # fmt: skip
def test_what_runs_in_a_check_is_in_the_digest(rule: str, names: tuple[str, ...]) -> None:
    """Every file of specsim whose functions are called."""
    checks, (family, name) = recorder(), rule.split("/")
    module, ran = discover.find(family, name), set[str]()
    for known_family in discover.FAMILIES:  # importing a rule, to read its THEOREM, or a check is not running it
        discover.rules(known_family)
        specsim.checks.family_checks(known_family)
    before = sys.getprofile()
    sys.setprofile(lambda frame, event, value: ran.add(frame.f_code.co_filename))
    try:
        for check in names:
            specsim.checks.family_checks(family)[check](module)
    finally:
        sys.setprofile(before)
    root = Path(specsim.__file__).parent
    called = {path for path in ran if Path(path).is_relative_to(root)} - {str(root / "checks" / "findings.py")}
    known = {str(imports.file_of(source)) for source in checks.sources(family, name)}
    assert len(called) >= 8
    assert called - known == set()


@pytest.mark.parametrize(
    ("family", "name"),
    [("step", "rejection"), ("chain", "block"), ("tree", "traversal"), ("draft", "iid"), ("process", "jacobi")],
)
def test_the_page_of_a_rule_is_whole(family: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of all rules are read in the built site (tests/house/test_site.py); here, what that reading can miss."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(DOCS))
    rules = importlib.import_module("_generate.rules")
    monkeypatch.setattr(rules, "checks", recorder())
    page = rules._page(family, name, discover.find(family, name), True)
    findings = rules.checks.recorded(family, name)
    assert list(lacking(page, family, name, findings, True)) == []
    lines = page.splitlines()
    for word in {"draft": ["svg", findings[0][0]]}.get(family, ["theorem", "Coq", "arxiv.org", "svg", findings[-1][0]]):
        spoiled = "\n".join(line for line in lines if word not in line)
        assert list(lacking(spoiled, family, name, findings, True)), word


def headings(page: str) -> set[str]:
    """Numbers of a theory page's sections: 1, 3.2, 4b."""
    text = (DOCS / "theory" / f"{page}.md").read_text(encoding="utf-8")
    return set(re.findall(r"^#+ (\d+[a-z]?(?:\.\d+)?)\.? ", text, re.M))


def test_citations_of_theory_resolve() -> None:
    """Every `theory/<page>.md <section>` in the tests is a section of that page; errors are rows of its section 11."""
    errors = re.findall(r"^\| (\d+[ab]?) \|", (DOCS / "theory" / "verification.md").read_text(encoding="utf-8"), re.M)
    cited = 0
    for path in sorted((ROOT / "tests").rglob("*.py")):
        text = " ".join(line.strip(" #") for line in path.read_text(encoding="utf-8").splitlines())
        for found in CITED.finditer(text) if path != Path(__file__) else ():
            page, section = found.groups()
            assert (DOCS / "theory" / f"{page}.md").is_file(), f"{path}: {found[0]}"
            if section:
                cited += 1
                assert section in headings(page), f"{path}: {found[0]}"
            for error in re.findall(r"errors? (\d+[ab]?)", text[found.end() : found.end() + 30]):
                assert any(row.startswith(error) for row in errors), f"{path}: error {error}"
    assert cited >= 30


def test_paths_in_the_layout_exist() -> None:
    text = (DOCS / "developer" / "layout.md").read_text(encoding="utf-8")
    named = re.findall(r"`((?:specsim|real|proofs|tests|docs)/[\w/.]*)`", text)
    assert len(named) >= 25
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_lines_of_the_schedule_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Section 6 shows a log, and two commands that read it: the second prints options of an engine."""
    text = (DOCS / "tutorials" / "schedule.md").read_text(encoding="utf-8").partition("## 6.")[2]
    (log,) = re.findall(r"```json\n(.*?)```", text, re.S)
    lines = [block.replace("\\\n", " ").split() for block in re.findall(r"```bash\n(.*?)```", text, re.S)]
    (tmp_path / "log.json").write_text(log)
    monkeypatch.chdir(tmp_path)
    shown = []
    for words in lines:
        assert words[0] == "specsim"
        ended = CliRunner().invoke(app, words[1:])
        assert ended.exit_code == 0, ended.output
        shown.append(ended.stdout)
    assert "speedup" in shown[0]
    assert json.loads(shown[1])["num_speculative_tokens"] >= 1
