"""`specsim-real systems --report`: the site's pages from the records of a folder, without running anything."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import real.cli
from real.papers import systems
from real.papers.lab import clauses

ROOT = Path(__file__).parents[4]
RESULTS, SITE = ROOT / "real" / "results" / "systems", ROOT / "docs" / "results"


def run(*words: str | Path) -> Any:
    return CliRunner().invoke(real.cli.app, ["systems", *map(str, words)])


def without_origin(page: str) -> str:
    """A page of the site as a report has it, without the line that says who wrote it."""
    return page.partition("\n")[2].replace("[computed exactly](../claims.md)", "computed exactly (`specsim claims`)")


def test_a_report_is_the_sites_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The pages that are committed, byte for byte but for where they come from; nothing is run."""
    names = ["spectr", "sjd"]
    for name in names:
        monkeypatch.setattr(systems.find(name), "run", lambda lab: pytest.fail("it was run"))
    ended = run(*names, "--out", RESULTS, "--report", tmp_path)
    assert ended.exit_code == 0, ended.output
    written = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*")}
    assert written == {"systems.md", "systems/sjd.md", "systems/spectr.md"}
    for name in names:
        first, _, rest = (tmp_path / "systems" / f"{name}.md").read_text(encoding="utf-8").partition("\n")
        assert first == f"<!-- written by `specsim-real systems --report` from {RESULTS}/{name}.json -->"
        assert rest == without_origin((SITE / "systems" / f"{name}.md").read_text(encoding="utf-8"))
    overview, page = (folder.joinpath("systems.md").read_text(encoding="utf-8") for folder in (tmp_path, SITE))
    rows = [line for line in page.splitlines() if any(f"(systems/{name}.md)" in line for name in names)]
    assert len(rows) == 8
    assert [line for line in rows if line not in overview] == []


def test_a_report_of_one_system_of_a_trial(tmp_path: Path) -> None:
    """Only the system that is named is in it, and its pages say that the record is a trial's."""
    held = json.loads((RESULTS / "nfd.json").read_text(encoding="utf-8"))
    held["provenance"]["share"] = 0.25
    (tmp_path / "nfd.json").write_text(json.dumps(held))
    shutil.copy(RESULTS / "sjd.json", tmp_path)
    assert run("nfd", "--out", tmp_path, "--report", tmp_path / "pages").exit_code == 0
    overview = (tmp_path / "pages" / "systems.md").read_text(encoding="utf-8")
    assert [path.name for path in (tmp_path / "pages" / "systems").iterdir()] == ["nfd.md"]
    assert overview.count("a trial on 0.25 of the texts") == len(clauses.sections()["nfd"]["clause"])
    assert "SJD" not in overview
    assert "a trial on 0.25 of the texts." in (tmp_path / "pages" / "systems" / "nfd.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["sdj"], "system 'sdj' is unknown; did you mean 'sjd'?"),
        (["mdsd"], "has no record of mdsd: run the command without --report"),
        (["--share", "0.5", "--force"], "report runs nothing and writes Markdown: leave out --share and --force"),
        (["--json"], "report runs nothing and writes Markdown: leave out --json"),
    ],
)
def test_bad_calls_are_refused(words: list[str], message: str, tmp_path: Path) -> None:
    shutil.copy(RESULTS / "sjd.json", tmp_path)
    ended = run(*words, "--out", tmp_path, "--report", tmp_path / "pages")
    assert ended.exit_code == 2
    assert message in " ".join(ended.stderr.split())
    assert not (tmp_path / "pages").exists()


@pytest.mark.parametrize("content", ["no JSON", "[]", '{"schema": "specsim-system/1"}', '{"schema": "another"}'])
def test_a_file_that_is_no_record_is_refused(content: str, tmp_path: Path) -> None:
    (tmp_path / "sjd.json").write_text(content)
    ended = run("--out", tmp_path, "--report", tmp_path / "pages")
    assert ended.exit_code == 2
    assert "sjd.json is not a whole record of a system: give another folder" in " ".join(ended.stderr.split())


def test_a_folder_that_cannot_be_written_is_refused_first(tmp_path: Path) -> None:
    (tmp_path / "pages").write_text("a file")
    ended = run("sjd", "--out", RESULTS, "--report", tmp_path / "pages")
    assert ended.exit_code == 2
    assert "cannot be written: Not a directory" in " ".join(ended.stderr.split())


def test_a_file_that_is_no_page_is_not_written_over(tmp_path: Path) -> None:
    notes = tmp_path / "systems.md"
    notes.write_text("my own notes", encoding="utf-8")
    ended = run("sjd", "--out", RESULTS, "--report", tmp_path)
    assert "systems.md is no page of this command: move it, or name another folder" in " ".join(ended.stderr.split())
    assert [path.name for path in tmp_path.iterdir()] == ["systems.md"]
    # A page of an earlier report is.
    assert run("sjd", "--out", RESULTS, "--report", tmp_path / "pages").exit_code == 0
    assert run("sjd", "--out", RESULTS, "--report", tmp_path / "pages").exit_code == 0
