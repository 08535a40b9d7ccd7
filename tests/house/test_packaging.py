"""What is published: one version, the extras of the README's blocks, and CI that spares a contributor's files."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import specsim

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = set(PROJECT["optional-dependencies"])
README = (ROOT / "README.md").read_text(encoding="utf-8")


def loaded() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheel_lines", Path(__file__).with_name("wheel_lines.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


LINES = loaded()


def test_every_block_says_what_it_needs() -> None:
    needs = set()
    for page in LINES.PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        found = LINES.blocks(text, EXTRAS, page)
        fences = sum(line.startswith(("```python", "```bash")) for line in text.splitlines())
        assert len(found) == fences - text.count("<!-- command: ") - text.count("<!-- needs: checkout -->")
        needs |= {block.needs for block in found}
    assert needs >= {frozenset(extra.split()) for extra in ("", "jax", "solve", "plot", "testing", "real")}


def test_a_block_that_fails_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = Path(sys.prefix)
    for text, status in (
        ("```python\nassert 1 == 1\n```", None),
        ("```python\nassert 1 == 2\n```", 1),
        ("```bash\nexit 3\n```", 3),
    ):
        (block,) = LINES.blocks(f"words\n<!-- needs: nothing -->\n{text}", EXTRAS, "PAGE")
        if status is None:
            LINES.run(block, folder, tmp_path)
            assert "PAGE line 3: 0 s" in capfd.readouterr().out
        else:
            with pytest.raises(SystemExit, match=f"^PAGE line 3: status {status} of: "):
                LINES.run(block, folder, tmp_path)


@pytest.mark.parametrize(
    ("readme", "words"),
    [
        ("words\n```python\nx = 1\n```", "README.md line 2: say before this block what it needs"),
        ("<!-- needs: -->\n```bash\nls\n```", "README.md line 2: say before this block what it needs"),
        ("<!-- needs: solve,fast -->\n```bash\nls\n```", "README.md line 1: fast is no extra; known: "),
    ],
)
def test_a_block_that_does_not_is_refused(readme: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        LINES.blocks(readme, EXTRAS)


def test_a_block_finds_the_programs_of_its_environment(tmp_path: Path) -> None:
    program = tmp_path / "bin" / "specsim"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho of this environment > mark\n")
    program.chmod(0o755)
    (block,) = LINES.blocks("<!-- needs: nothing -->\n```bash\nspecsim plan 0.8\n```", EXTRAS)
    LINES.run(block, tmp_path, tmp_path)
    assert (tmp_path / "mark").read_text() == "of this environment\n"


def test_an_environment_starts_from_the_bare_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It shares no program of ours, and what is written into it does not reach the other."""
    asked: list[list[Any]] = []
    monkeypatch.setattr(LINES.subprocess, "run", lambda command, **_: asked.append([str(word) for word in command]))
    bare = tmp_path / "bare"
    for name in (
        "bin/python",
        "bin/specsim",
        "lib/numpy/one.py",
        "lib/specsim/one.py",
        "lib/specsim_llm-1.dist-info/a",
    ):
        (bare / name).parent.mkdir(parents=True, exist_ok=True)
        (bare / name).write_text(name)
    LINES.install(tmp_path / "env", Path("x.whl"), frozenset({"plot"}), bare)
    found = {path.relative_to(tmp_path / "env").as_posix() for path in (tmp_path / "env").rglob("*") if path.is_file()}
    assert found == {"bin/python", "lib/numpy/one.py"}
    assert [(command[1:4], command[-1]) for command in asked] == [(["-m", "pip", "--python"], "x.whl[plot]")]
    LINES.install(tmp_path / "new", Path("x.whl"), frozenset())
    assert [command[1:3] for command in asked[1:]] == [["-m", "venv"], ["-m", "pip"]]


def test_the_root_holds_what_is_meant_to() -> None:
    """A sweep once left a file here, which was committed."""
    if (ROOT / ".git").exists():
        listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
        named = {line.partition("/")[0] for line in listed.splitlines()}
    else:  # a copy of what is tracked, as CI makes it
        named = {path.name for path in ROOT.iterdir() if path.suffix != ".egg-info"}
    meant = "CHANGELOG.md CITATION.cff CONTRIBUTING.md LICENSE Makefile README.md constraints.txt pyproject.toml"
    dotted = {name for name in named if name.startswith(".")}
    assert named - dotted == {*meant.split(), "docs", "proofs", "real", "specsim", "tests"}


def test_weights_and_prompts_are_in_a_wheel_and_records_are_not() -> None:
    """`.ci/wheel` asks it of the wheel that it builds."""
    shipped = [path.relative_to(ROOT).as_posix() for path in (ROOT / "real").rglob("*.safetensors")]
    assert {"real/papers/models/weights/raster_target.safetensors", "real/tiny/target/model.safetensors"} <= set(
        shipped
    )
    prompts = ["real/prompts/chat.jsonl", "real/prompts/human_eval.jsonl"]
    assert LINES.amiss([*shipped, *prompts, "real/cli.py"]) == []
    assert LINES.amiss(shipped) == [f"{name} is missing" for name in prompts]
    assert LINES.amiss([*shipped[1:], *prompts, "real/results/systems/sjd.json"]) == [
        "real/results/systems/sjd.json is a record of one machine",
        f"{shipped[0]} is missing",
    ]


def test_what_is_run_and_where() -> None:
    text = "<!-- needs: plot; short: --count 2 -->\n```bash\n.venv/bin/specsim report out  # three\n```"
    (block,) = LINES.blocks(text, EXTRAS)
    (command,) = LINES.program(block, Path("/env"))
    assert command[-1] == "/env/bin/specsim report out --count 2"
    made = {Path("a"): frozenset({"plot"}), Path("b"): frozenset({"solve"}), Path("c"): frozenset()}
    assert LINES.environment(made, frozenset({"plot", "real"}), Path("x")) == Path("a")
    assert LINES.environment(made, frozenset({"jax"}), Path("x")) == Path("c")
    assert LINES.environment({Path("a"): frozenset({"plot"})}, frozenset(), Path("x")) == Path("x/env1")


def test_one_version() -> None:
    version = specsim.__version__
    assert PROJECT["dynamic"] == ["version", "readme"]
    assert f"\nversion: {version}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")


def test_the_tested_versions_are_named() -> None:
    named = [line.rpartition(" ")[2] for line in PROJECT["classifiers"] if "Python :: 3." in line]
    assert named == ["3.11", "3.12", "3.13"]
    run = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert re.findall(r"^for version in (.*); do$", run, flags=re.MULTILINE) == [" ".join(named)]


def test_nothing_outside_a_temporary_folder_is_removed() -> None:
    for script in (ROOT / ".ci").iterdir():
        text = script.read_text(encoding="utf-8")
        removed = [line for line in text.splitlines() if "rm " in line]
        assert removed == ["trap 'rm -rf \"$work\"' EXIT"] * ("mktemp -d" in text), script.name


def without_a_case(lines: list[str], collected: set[str]) -> list[str]:
    """Lines that no test bears: of files that were collected by their ids, of others by the name of the function."""
    whole, gone = {name.partition("::")[0] for name in collected}, []
    for line in lines:
        path, _, case = line.partition("::")
        source = (ROOT / path).read_text(encoding="utf-8")
        there = line in collected if path in whole else f"def {case.partition('[')[0]}(" in source
        gone += [] if there else [line]
    return gone


def test_every_slow_case_exists(pytestconfig: pytest.Config) -> None:
    """A line of slow.txt that names no case would leave a slow test in the default suite without a word.

    Ids are compared wherever whole files are collected: in a run of the whole suite all are.
    """
    suite = pytestconfig.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    part = any("::" in word for word in pytestconfig.args) or pytestconfig.getoption("lf", False)
    lines = (ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines()
    assert without_a_case(lines, set() if part else pytestconfig.stash[suite.COLLECTED]) == []


def test_a_case_that_is_gone_is_seen() -> None:
    here = "tests/house/test_packaging.py::"
    case = f"{here}test_one_version"
    assert without_a_case([f"{case}[a]", f"{here}test_no_such"], set()) == [f"{here}test_no_such"]
    assert without_a_case([case, f"{case}[a]"], {case}) == [f"{case}[a]"]
