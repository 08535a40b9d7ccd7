"""A system's TEST is committed before its record is begun: the history says so, for records on a named pair."""

from __future__ import annotations

import ast
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from real.papers import systems
from real.papers.lab import report
from real.papers.lab.records import Held
from real.studies.provenance import digest

ROOT = Path(__file__).parents[2]
RESULTS = ROOT / "real" / "results" / "systems"
FOLDER = Path("real") / "papers" / "systems"


def git(root: Path, *words: str) -> str:
    return subprocess.run(["git", *words], cwd=root, check=True, capture_output=True, text=True).stdout


def has_history(root: Path) -> bool:
    """Whether the root is a checkout with all of its commits."""
    try:
        is_root = Path(git(root, "rev-parse", "--show-toplevel").strip()).samefile(root)
        return is_root and git(root, "rev-parse", "--is-shallow-repository").strip() == "false"
    except (OSError, subprocess.CalledProcessError):
        return False


def stated(source: str) -> str:
    """The TEST of a system's file; "" if it has none."""
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["TEST"]:
            return str(ast.literal_eval(node.value))
    return ""


def committed(root: Path, path: Path, test_hash: str) -> datetime | None:
    """When the TEST of this hash was committed that the file has had since; None if it is not committed."""
    since = None
    for line in git(root, "log", "--format=%H %aI", "--", str(path)).splitlines():
        commit, when = line.split()
        try:
            source = git(root, "show", f"{commit}:{path.as_posix()}")
        except subprocess.CalledProcessError:  # the commit that removes a file
            break
        if digest([stated(source)]) != test_hash:
            break
        since = datetime.fromisoformat(when)
    return since


def problem(root: Path, name: str, held: Held) -> str | None:
    """What is wrong with the order of a record and its TEST."""
    since, begun = committed(root, FOLDER / f"{name}.py", held["test_hash"]), held["provenance"]["date"]
    if since is None:
        return f"{name}: its TEST is not committed"
    if since > datetime.fromisoformat(begun):
        return f"{name}: its TEST was committed {since.isoformat()}, its record begun {begun}"
    return None


def test_every_test_on_a_named_pair_was_committed_before_its_record() -> None:
    if not has_history(ROOT):
        pytest.skip("the checkout has no whole history: which came first, TEST or record, is not known here")
    kept = {name: held for name, held in report.recorded(RESULTS).items() if hasattr(systems.find(name), "PAIR")}
    assert [found for name, held in kept.items() if (found := problem(ROOT, name, held))] == []


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository in which a system's TEST was changed at noon, and its file once more at one o'clock."""
    path = tmp_path / FOLDER / "coin.py"
    path.parent.mkdir(parents=True)
    git(tmp_path, "init", "-q")
    for hour, source in ((11, 'TEST = "old"\n'), (12, 'TEST = "new"\n'), (13, 'TEST = "n" "ew"\nMORE = 1\n')):
        path.write_text(source)
        who = ("-c", "user.name=a", "-c", "user.email=a@b.c")
        git(tmp_path, "add", ".")
        git(tmp_path, *who, "commit", "-q", "-m", "x", "--date", f"2026-01-01T{hour}:00:00+00:00")
    return tmp_path


@pytest.mark.parametrize(
    ("test", "begun", "found"),
    [
        ("new", "12:30", None),
        ("new", "11:30", "coin: its TEST was committed 2026-01-01T12:00:00+00:00, its record begun"),
        ("old", "11:30", "coin: its TEST is not committed"),
    ],
)
def test_the_order_is_read_from_the_history(repository: Path, test: str, begun: str, found: str | None) -> None:
    held: dict[str, Any] = {"test_hash": digest([test]), "provenance": {"date": f"2026-01-01T{begun}:00+00:00"}}
    told = problem(repository, "coin", held)
    assert (told is None) == (found is None)
    assert found is None or str(told).startswith(found)


def test_a_copy_without_its_history_is_known(repository: Path, tmp_path: Path) -> None:
    git(repository, "clone", "-q", "--depth", "1", f"file://{repository}", str(tmp_path / "shallow"))
    assert has_history(repository)
    assert not has_history(tmp_path / "shallow")
    assert not has_history(repository / "real")
