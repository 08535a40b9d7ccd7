"""The README is one page and true: blocks run, links lead to pages that read well where the code is shown.

`test_docs_pages.test_tables_are_those_of_the_records` compares what `docs/refresh.py` writes into it.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from typer.testing import CliRunner

import real.cli
import specsim
import specsim.cli
from specsim.report.markers import refresh

ROOT = Path(__file__).parents[2]
FORGE = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
FRONT = ("README.md", "docs/index.md")  # begin with one example
README = (ROOT / "README.md").read_text(encoding="utf-8")
PYTHON = re.findall(r"```python\n(.*?)```", README, re.S)
SHELL = [line for block in re.findall(r"```bash\n(.*?)```", README, re.S) for line in block.splitlines()]
APPS = {"specsim-real": real.cli.app, "specsim": specsim.cli.app}
OURS = [line for line in SHELL if Path(line.partition(" ")[0]).name in APPS]  # of the environment: .venv/bin/specsim
COMMANDS = {
    name: subprocess.run([ROOT / ".ci" / "readme", name], capture_output=True, text=True, check=True).stdout
    for name in ("main", "tests")
}


def test_the_readme_is_one_page() -> None:
    assert len(README.splitlines()) <= 150
    assert len(README.encode()) <= 9 * 1024


@pytest.mark.parametrize("block", PYTHON, ids=[b.splitlines()[0][:40] for b in PYTHON])
def test_python_block_runs(block: str) -> None:
    exec(compile(block, "README.md", "exec"), {})


def wrong_claims(block: str) -> list[str]:
    """Lines whose commented number, or array, is not the value; at least five say what theirs is."""
    names: dict[str, object] = {}
    exec(compile(block, "example", "exec"), names)
    claims = re.findall(r"^(?:\w+ = )?(\w+\.\S.*?)\s+# ([\d.]+|array\(\[.*?\]\))(?=[:, ]|$)", block, re.M)
    assert len(claims) >= 5
    found = []
    for expression, claimed in claims:
        value = eval(expression, names)
        value = getattr(value, "value", value)
        shown = (
            f"array({value.tolist()})"
            if claimed.startswith("array")
            else str(round(float(value), 4)).removesuffix(".0")
        )
        found += [f"{expression}: {shown}, not {claimed}"] if shown != claimed else []
    return found


@pytest.mark.parametrize("name", FRONT)
def test_example_says_what_the_library_says(name: str) -> None:
    """Each commented number of the thirty-second example is the value of its line."""
    block = re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(encoding="utf-8"), re.S)[0]
    assert wrong_claims(block) == []
    for claim, other in (
        ("# 0.64", "# 0.65"),
        ("[False, True, True]", "[True, True, True]"),
        ("# 8 drafts", "# 7 drafts"),
    ):
        assert len(wrong_claims(block.replace(claim, other))) == 1
    assert f"predicted {specsim.optimal_gamma(0.8, cost_ratio=0.05).speedup:.2f}x" in block


def test_each_command_installs_and_runs() -> None:
    for name, last in (("main", ".venv/bin/specsim-real compare"), ("tests", ".venv/bin/pytest")):
        line = " ".join(COMMANDS[name].splitlines())  # one, or two that end in &&
        assert line.startswith("python3 -m venv .venv && .venv/bin/pip install -q -c constraints.txt -e ")
        assert line.endswith(f" && {last}")
        script = "main" if name == "main" else "run"
        assert f"line=$(.ci/readme {name})" in (ROOT / ".ci" / script).read_text()


@pytest.mark.parametrize("line", OURS)
def test_shell_line_runs(line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    words = shlex.split(line, comments=True)
    result = CliRunner().invoke(APPS[Path(words[0]).name], words[1:])
    assert result.exit_code == 0, result.output


def unreadable(text: str, folder: Path) -> list[str]:
    """What a code forge shows badly in a page of this folder: raw directives, links and pictures that lead nowhere."""
    directives = re.findall(r"^(?:```\{|:::).*", text, re.M)
    links = re.findall(r"\]\((?!https?:)([^)#]+)", text)
    return directives + [link for link in links if not (folder / link).exists()]


@pytest.mark.parametrize("name", FORGE)
def test_links_lead_to_pages_that_read_well(name: str) -> None:
    """The pages that a visitor meets first, and the pages that these link to."""
    text = (ROOT / name).read_text(encoding="utf-8")
    assert unreadable(text, ROOT) == []
    pages = {link for link in re.findall(r"\]\((?!https?:)([^)#]+)", text) if link.endswith(".md")}
    assert {page: unreadable((ROOT / page).read_text(encoding="utf-8"), (ROOT / page).parent) for page in pages} == {
        page: [] for page in pages
    }


def test_places_that_links_name_are_there() -> None:
    places = [
        (page, place)
        for name in FORGE
        for page, place in re.findall(r"\]\(([\w./-]+\.md)#([\w-]+)\)", (ROOT / name).read_text(encoding="utf-8"))
    ]
    assert len(places) >= 2
    assert [(page, place) for page, place in places if place not in headings(page)] == []


def headings(page: str) -> set[str]:
    """The places that a forge gives to the headings of a page."""
    titles = re.findall(r"^#+ (.+)$", (ROOT / page).read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_an_unreadable_page_is_found() -> None:
    tutorials = ROOT / "docs" / "tutorials"
    found = unreadable((tutorials / "position.md").read_text(encoding="utf-8"), tutorials)
    assert "```{code-cell} ipython3" in found
    picture = "![times](real/results/widened.png)"
    assert unreadable(picture, ROOT) == []
    assert unreadable(picture, ROOT / "docs") == ["real/results/widened.png"]
    assert "no-such-place" not in headings("docs/install.md")


def test_no_table_without_markers() -> None:
    with pytest.raises(ValueError, match="<!-- rules: begin"):
        refresh("nothing here", "rules", "table")


def test_constraints_are_exact() -> None:
    """Every line pins one name to one version: pip refuses anything else, and a path would bind it to a machine."""
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if not line.startswith("#")]
    pin = re.compile(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+]+")
    assert len(lines) > 50
    assert all(pin.fullmatch(line) for line in lines)
    assert not pin.fullmatch("-e /some/clone")
