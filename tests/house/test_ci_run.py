"""CI's script as a whole: two rows of stages, a failure in either ends the run. What it calls are stand-ins."""

from __future__ import annotations

import itertools
import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest
from _pytest.mark.expression import Expression
from helpers import parts

CI = Path(__file__).parents[2] / ".ci"
VENV = """#!/bin/sh
for last; do :; done
mkdir -p "$last/bin"
for name in pip ruff mypy pytest specsim-real; do ln -sf "$STANDINS/$name" "$last/bin/$name"; done
"""
README = """\
test "$1" = main && last=specsim-real || last=pytest
echo "python3 -m venv .venv && .venv/bin/pip install x && .venv/bin/$last"
"""
BESIDE = (
    "machine proofs",
    "quick tests on Python 3.11",  # of a checkout without a commit
    "README command: main, installation included",
    "wheel",
)
FRONT = (
    "lint",
    "install for types and tests",
    "types",
    "quick tests on this Python",
    "the oldest transformers",
    "site",
)
LAST = "README command: tests"
SLOW = "slow tests, part 1 of 10"  # of a checkout without a commit


ALL_PARTS = "1 2 3 4 5 6 7 8 9 10"


def checkout(folder: Path, *, ready: str = ALL_PARTS, **lines: str) -> Path:
    """Return CI's own script in a checkout, with a stand-in for all that it calls: a line of shell, or nothing.

    ready: the parts of the slow tier that may fail a run.
    """
    standins = folder / "standins"
    (folder / "checkout" / ".ci").mkdir(parents=True)
    standins.mkdir()
    (folder / "tmp").mkdir()
    programs = {name: standins / name for name in ("pip", "ruff", "mypy", "pytest", "specsim-real")}
    called = ("quick", "wheel", "proofs", "site", "transformers", "readme")
    scripts = {name: folder / "checkout" / ".ci" / name for name in called}
    for name, path in (programs | scripts).items():
        path.write_text(f"#!/bin/sh\n{README if name == 'readme' else lines.get(name, 'exit')}\n")
    (standins / "python3").write_text(VENV)
    script, found = re.subn(r"^READY=\(.*\)$", f"READY=({ready})", (CI / "run").read_text(), flags=re.MULTILINE)
    assert found == 1
    (folder / "checkout" / ".ci" / "run").write_text(script)
    for path in (*standins.iterdir(), *(folder / "checkout" / ".ci").iterdir()):
        path.chmod(0o755)
    subprocess.run(["git", "init", "-q"], cwd=folder / "checkout", check=True)
    return folder / "checkout" / ".ci" / "run"


def environment(folder: Path) -> dict[str, str]:
    """Stand-ins before programs, and no options of a suite that runs these tests itself, as that of CI does."""
    path = f"{folder / 'standins'}{os.pathsep}{os.environ['PATH']}"
    ours = {"PATH": path, "STANDINS": str(folder / "standins"), "TMPDIR": str(folder / "tmp")}
    return {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | ours


def run(folder: Path, **lines: str) -> tuple[int, list[str]]:
    """Its status, and what it said."""
    script = checkout(folder, **lines)
    env = environment(folder)
    done = subprocess.run([script], env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    assert not list((folder / "tmp").iterdir()), "something is left in the temporary folder"
    return done.returncode, done.stdout.splitlines()


def stages(said: list[str]) -> list[str]:
    """Those that came to their end."""
    return [found[1] for line in said if (found := re.fullmatch(r"== (.*): \d+ s", line))]


def test_every_stage_in_order(tmp_path: Path) -> None:
    status, said = run(
        tmp_path, wheel="echo begun; sleep 0.3; echo built", specsim="sleep 0.1; echo row", mypy="echo row"
    )
    assert (status, stages(said)) == (0, [*FRONT, *BESIDE, LAST, SLOW, "all of it"])
    assert "FAILED" not in "".join(said)
    at = said.index("== wheel")
    assert said[at + 1 : at + 3] == ["begun", "built"], "the words of one row lie between those of the other"


def test_what_passed_in_the_quick_tier_is_not_run_again(tmp_path: Path) -> None:
    _, said = run(tmp_path, quick='echo "quick: $PYTEST_ADDOPTS"', pytest='echo "suite: $PYTEST_ADDOPTS"')
    assert said.count("quick: ") == 2
    suites = [line for line in said if line.startswith("suite: ")]
    assert suites == ['suite: -m "not slow and (not fast or later)"', "suite: "]  # the last is a part of the slow tier


def test_bytecode_is_kept_from_one_process_to_the_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the caller's own setting: what is imported is not compiled anew in each of hundreds of processes."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    words = 'echo "bytecode: ${PYTHONDONTWRITEBYTECODE-kept} in $PYTHONPYCACHEPREFIX"'
    _, said = run(tmp_path, wheel=words, quick=words, pytest=words)
    lines = [line for line in said if line.startswith("bytecode: ")]
    (line,) = set(lines)
    assert len(lines) == 5
    assert line.startswith(f"bytecode: kept in {tmp_path / 'tmp'}")


def test_every_slow_test_is_in_one_part() -> None:
    """As many runs as there are parts see all of them, if each has one commit more; at most ten are needed."""
    script = (CI / "run").read_text()
    (count,) = (int(number) for number in re.findall(r"^PARTS=(\d+)$", script, re.MULTILINE))
    assert count <= 10
    tests = [f"tests/house/test_wrong_lines.py::test_a_wrong_line_is_killed[{i}]" for i in range(400)]
    found = [[test for test in tests if parts.part_of(test, count) == part] for part in range(1, count + 1)]
    assert sorted(test for some in found for test in some) == sorted(tests)
    assert min(map(len, found)) > len(tests) / count / 2
    for step in (1, 3, 7, 11):
        assert {(step * run) % count + 1 for run in range(count)} == set(range(1, count + 1))


def commit(folder: Path, count: int) -> None:
    git = ["git", "-c", "user.name=x", "-c", "user.email=x@x", "commit", "-q", "--allow-empty", "-m", "x"]
    for _ in range(count):
        subprocess.run(git, cwd=folder, check=True)


def slow_part(script: Path, folder: Path, **more: str) -> str:
    """The part of the slow tier that a run chose, for its stage and for pytest alike."""
    env = environment(folder) | more
    done = subprocess.run([script], env=env, capture_output=True, text=True, timeout=60, check=True)
    (part,) = set(re.findall(r"^== slow tests, part (\d+) of 10$", done.stdout, re.MULTILINE))
    words = rf"suite: -m slow --part {part}/10 --seconds 1[56]\d\d --durations 10 --ignore="
    assert re.search(words, done.stdout)
    return part


def test_the_part_follows_the_number_of_commits(tmp_path: Path) -> None:
    script = checkout(tmp_path, pytest='echo "suite: $*"')
    commit(script.parent, 11)
    assert slow_part(script, tmp_path) == "2"
    assert slow_part(script, tmp_path, SLOW_PART="5") == "5"


@pytest.mark.parametrize(("ready", "status"), [("1 4", 3), ("4 7", 0), ("10", 0), ("", 0)])
def test_only_a_part_that_is_ready_fails_the_run(tmp_path: Path, ready: str, status: int) -> None:
    """Parts that have passed whole; a failure in another is said."""
    script = checkout(tmp_path, ready=ready, pytest='case "$*" in *--part*) exit 3;; esac')
    done = subprocess.run([script], env=environment(tmp_path), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status
    words = "== slow tests, part 1: FAILED, which does not fail this run: the part is not ready"
    assert (words in done.stdout.splitlines()) is (status == 0)
    assert ("== FAILED: slow tests, part 1 of 10" in done.stdout) is (status == 3)
    ready_parts = f"== slow tests: of 10 parts {len(ready.split())} are ready for CI; SLOW_PART=K .ci/run runs any"
    assert (ready_parts in done.stdout) is (status == 0)


def test_a_copy_without_all_commits_takes_the_id_of_the_last(tmp_path: Path) -> None:
    """It has one commit always, and would have one part always."""
    script = checkout(tmp_path, pytest='echo "suite: $*"')
    commit(script.parent, 3)
    top = script.parents[1]
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=top, capture_output=True, text=True, check=True).stdout
    (top / ".git" / "shallow").write_text(head)
    assert slow_part(script, tmp_path) == str(int(head[:8], 16) % 10 + 1)


@pytest.mark.parametrize("part", ["0", "11", "x"])
def test_a_part_that_is_none_ends_the_run_before_its_first_stage(part: str, tmp_path: Path) -> None:
    script = checkout(tmp_path)
    env = environment(tmp_path) | {"SLOW_PART": part}
    done = subprocess.run([script], env=env, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"SLOW_PART is {part}; expected a number from 1 to 10\n"


def test_what_is_slow_and_left_out_is_what_the_site_runs() -> None:
    (files,) = re.findall(r"^IN_SITE=\((.*)\)$", (CI / "run").read_text(), re.MULTILINE)
    assert f"-m slow {files})" in (CI / "site").read_text()


@pytest.mark.parametrize("words", ["0/7", "8/7", "x", "1/", "-1/7"])
def test_a_part_that_is_none_is_refused(words: str) -> None:
    with pytest.raises(ValueError, match="expected K/N with K from 1 to N"):
        parts.read(words)


WHOLE, QUICK = "not slow", "fast and not slow"


def test_the_two_tiers_are_the_whole_suite() -> None:
    """Whatever the marks of a test: it is in the quick tier, which leaves out what is `later`, or comes after it."""
    rest = re.findall(r"""PYTEST_ADDOPTS='-m "(.*)"'""", (CI / "run").read_text())[0]
    assert f'-m "{QUICK}"' in (CI / "quick").read_text()
    assert f"-m '{WHOLE}'" in (CI.parent / "pyproject.toml").read_text()
    assert "fast" not in rest.split(" and "), "tests/conftest.py would take it for the quick tier"
    for marks in itertools.product((False, True), repeat=3):
        has = dict(zip(("fast", "later", "slow"), marks, strict=True)).__getitem__
        quick, after, whole = (Expression.compile(tier).evaluate(has) for tier in (QUICK, rest, WHOLE))
        assert [quick and not has("later"), after].count(True) == whole, marks


@pytest.mark.parametrize(
    ("where", "stage"),
    [
        ("ruff", "lint"),
        ("pip", "lint"),
        ("mypy", "types"),
        ("specsim-real", BESIDE[2]),
        ("site", "site"),
        ("proofs", "machine proofs"),
        ("wheel", "wheel"),
        ("pytest", LAST),
    ],
)
def test_a_failure_in_any_stage_fails_the_run(tmp_path: Path, where: str, stage: str) -> None:
    status, said = run(tmp_path, **{where: f"echo {where} says why; exit 3"})
    assert status == 3
    assert said.count(f"{where} says why") == 1
    assert f"== FAILED: {stage}" in said
    assert stage not in stages(said)
    assert LAST not in stages(said), "the whole suite ran after a failure"


def test_a_failure_in_the_slow_tier_fails_the_run(tmp_path: Path) -> None:
    status, said = run(tmp_path, pytest='case "$*" in *--part*) exit 3;; esac')
    assert (status, stages(said)[-1], said[-1]) == (3, LAST, f"== FAILED: {SLOW}")


@pytest.mark.parametrize("version", ["", "3.11"])
def test_quick_tests_fail_on_any_python(tmp_path: Path, version: str) -> None:
    status, said = run(tmp_path, quick=f'test "$1" != "{version}"')
    assert status == 1
    assert "== FAILED: quick tests on " + (f"Python {version}" if version else "this Python") in said
    assert LAST not in stages(said)


def test_what_fails_ends_the_other_row(tmp_path: Path) -> None:
    mark, began = tmp_path / "mark", time.monotonic()
    status, said = run(tmp_path, wheel=f"echo begun; sleep 20; touch {mark}", mypy="sleep 1; exit 2")
    assert (status, time.monotonic() - began < 15) == (2, True)
    assert "begun" in said
    assert not mark.exists()


def test_an_interruption_ends_both_rows(tmp_path: Path) -> None:
    script = checkout(tmp_path, quick="sleep 20", mypy="echo here; sleep 20")
    process = subprocess.Popen(
        [script], env=environment(tmp_path), stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stdout is not None
    while "here" not in process.stdout.readline():
        pass
    os.killpg(process.pid, signal.SIGTERM)
    process.communicate(timeout=15)
    assert process.returncode
    assert not list((tmp_path / "tmp").iterdir())
