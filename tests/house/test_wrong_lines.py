"""Every wrong line of tests/mutants/lines.toml is killed by the test named there, in the default suite."""

from __future__ import annotations

import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LINES: list[dict[str, str]] = tomllib.loads((ROOT / "tests/mutants/lines.toml").read_text(encoding="utf-8"))["line"]
NAMES = [line["gap"] for line in LINES]
SLOW_CASES = (ROOT / "tests/slow.txt").read_text(encoding="utf-8").splitlines()
Status = Callable[[list[str]], tuple[int, str]]


def test_every_wrong_line_can_be_planted() -> None:
    """The right line stands once in its file, and the test that kills the wrong one is in the default suite."""
    assert [line["gap"] for line in LINES if not can_be_planted(line)] == []
    one = LINES[0]
    slow = "tests/house/test_wrong_lines.py::test_right_lines_survive"
    slow_case = "tests/conform/test_jax.py::test_the_example_passes"
    others = ({"right": "no such line"}, {"wrong": one["right"]}, {"killed_by": one["killed_by"] + "_as_well"})
    for other in (*others, {"killed_by": slow}, {"killed_by": slow_case}):
        assert not can_be_planted(one | other)


def can_be_planted(line: dict[str, str]) -> bool:
    path, _, name = line["killed_by"].partition("::")
    is_unique = source(line["file"]).count(line["right"]) == 1
    is_default = name.partition("[")[0] in default_tests(path) and line["killed_by"] not in SLOW_CASES
    return is_unique and line["wrong"] != line["right"] and is_default


@cache
def source(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


@cache
def default_tests(path: str) -> set[str]:
    """Return the names of the tests of a file that are not marked as slow."""
    body = ast.parse(source(path)).body
    tests = [one for one in body if isinstance(one, ast.FunctionDef) and one.name.startswith("test_")]
    return {test.name for test in tests if "pytest.mark.slow" not in map(ast.unparse, test.decorator_list)}


def test_no_gap_is_listed_twice() -> None:
    assert len(set(NAMES)) == len(NAMES) >= 55


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The packages and their tests, to be changed."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("specsim", "real", "tests", "docs"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "_build*"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def status(copy: Path) -> Iterator[Status]:
    """A function: exit status and output of pytest on tests of the default suite, in a process forked from one."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("CI", "PYTEST"))}
    env = kept | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    words = [sys.executable, "tests/helpers/forked.py"]
    with subprocess.Popen(words, cwd=copy, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as forks:
        assert forks.stdin is not None
        assert forks.stdout is not None
        stdin, stdout = forks.stdin, forks.stdout

        def ask(tests: list[str]) -> tuple[int, str]:
            stdin.write(json.dumps(tests) + "\n")
            stdin.flush()
            code, shown = json.loads(stdout.readline())
            return code, shown

        yield ask
        stdin.close()
    assert forks.returncode == 0


@pytest.mark.slow  # a second each: specsim is imported anew
@pytest.mark.parametrize("line", LINES, ids=NAMES)
def test_a_wrong_line_is_killed(line: dict[str, str], copy: Path, status: Status) -> None:
    path = copy / line["file"]
    honest = path.read_text(encoding="utf-8")
    path.write_text(honest.replace(line["right"], line["wrong"]), encoding="utf-8")
    try:
        code, shown = status([line["killed_by"]])
    finally:
        path.write_text(honest, encoding="utf-8")
    assert code == 1, shown  # 0: it survives; 5: its test is slow; -14: it took too long


@pytest.mark.slow
def test_right_lines_survive(status: Status) -> None:
    """Every test of the list passes where nothing is wrong, in a process like those above."""
    code, shown = status(sorted({line["killed_by"] for line in LINES}))
    assert code == 0, shown


def returns_unasked(source: str) -> list[str]:
    """Tests with a `return` in a branch that has asked nothing before it: a case that ends there is not tested."""
    tests = [f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef) and f.name.startswith("test_")]
    return [test.name for test in tests if _unasked(test.body)]


def _unasked(body: list[ast.stmt]) -> bool:
    asked = False
    for statement in body:
        if isinstance(statement, ast.Return):
            return not asked
        called = statement.value if isinstance(statement, ast.Expr) else None
        name = getattr(called.func, "id", "") if isinstance(called, ast.Call) else ""
        asked |= isinstance(statement, ast.Assert | ast.With) or name.startswith(("assert", "check"))
        inner = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
        if not isinstance(statement, ast.FunctionDef | ast.ClassDef) and any(_unasked(part) for part in inner):
            return True
    return False


def test_no_test_returns_before_it_has_asked_something() -> None:
    """As a test over rules once did, for those that did not take its number of drafts."""
    found = {p.name: returns_unasked(p.read_text(encoding="utf-8")) for p in (ROOT / "tests").rglob("test_*.py")}
    assert {name: tests for name, tests in found.items() if tests} == {}


def test_the_check_of_returns_can_fail() -> None:
    silent = "def test_it(rule, k):\n    if not takes(rule, k):\n        return\n    assert law(rule, k)\n"
    assert returns_unasked(silent) == ["test_it"]
    assert returns_unasked(silent.replace("        return", "        assert refused(rule, k)\n        return")) == []
