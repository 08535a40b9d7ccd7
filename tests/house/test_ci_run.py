"""CI runs every check of the Makefile, one part of the slow tests each time, and fails if any of them does."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest
from helpers import parts

ROOT = Path(__file__).parents[2]
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def checks() -> set[str]:
    """Return the checks that the Makefile offers."""
    (names,) = re.findall(r"^\.PHONY: (.*)$", MAKEFILE, re.MULTILINE)
    return set(names.split())


def test_ci_runs_every_check() -> None:
    """The README's own command stands for `test`."""
    calls = re.findall(
        r"^(?:timeout .* )?make -s (?:-j2 --output-sync=target )?([a-z ]+?)(?: \"\w+=\$\w+\")*(?: \|\| status=\$\?)?$",
        RUN,
        re.MULTILINE,
    )
    assert len(calls) == 3
    assert {name for call in calls for name in call.split()} | {"test"} == checks()
    assert "line=$(.ci/readme tests)" in RUN
    assert "    time pytest\n".replace("    ", "\t") in MAKEFILE


def test_contributing_names_every_check() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    assert {name for name in checks() if not re.search(rf"\| `make {name}\b[^|]*` \|", text)} == set()


def test_every_slow_test_is_in_one_part() -> None:
    """Ten runs see all of them, if each has one commit more than the last."""
    tests = [f"tests/house/test_wrong_lines.py::test_a_wrong_line_is_killed[{i}]" for i in range(400)]
    chosen = [[test for test in tests if parts.part_of(test, 10) == part] for part in range(1, 11)]
    assert sorted(test for some in chosen for test in some) == sorted(tests)
    assert min(map(len, chosen)) > len(tests) / 10 / 2
    assert "part=${PART:-$((commits % 10 + 1))}" in RUN
    assert "pytest -m slow --part $(PART)/10" in MAKEFILE


@pytest.mark.parametrize("words", ["0/7", "8/7", "x", "1/", "-1/7"])
def test_a_part_that_does_not_exist_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match="expected K/N with K from 1 to N"):
        parts.read(words)


def test_slow_tests_of_the_site_run_there() -> None:
    (files,) = re.findall(r"^\t  ((?:--ignore \S+ ?)+)$", MAKEFILE, re.MULTILINE)
    assert f"-m slow {files.replace('--ignore ', '')})" in (ROOT / ".ci" / "site").read_text(encoding="utf-8")


@pytest.mark.parametrize(("wrong", "status"), [("", 0), ("exit 1", 2)])
def test_a_check_that_fails_fails_make(tmp_path: Path, wrong: str, status: int) -> None:
    """Beside another, with the words of both and their seconds."""
    for name, line in {"mypy": f"echo types; {wrong}", "ruff": "echo lint"}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{line}\n")
        (tmp_path / name).chmod(0o755)
    outer = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    env = outer | {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    words = ["make", "-s", "-j2", "--output-sync=target", "lint", "types"]
    run = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == status
    assert sorted(run.stdout.split()) == ["lint", "lint", "types"]
    assert {"== lint: 0 s", "== types: 0 s"} <= set(run.stderr.splitlines())
    assert ("types] Error 1" in run.stderr) is bool(status)


def test_ci_ends_at_the_first_failure() -> None:
    for name in ("run", "copy", "install", "main", "python", "wheel", "proofs", "transformers"):
        assert "set -euo pipefail" in (ROOT / ".ci" / name).read_text(encoding="utf-8"), name
