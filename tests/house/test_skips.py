"""The suite's own hooks, run on tests of three lines: a skip for a missing package, and the parts of the slow tests."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from helpers import parts

TESTS = Path(__file__).parents[1]
IN_A_TEST = "import pytest\n\ndef test_one():\n    pytest.importorskip('no_such_package')\n"
OF_A_FILE = "import pytest\n\npytest.importorskip('no_such_package')\n\ndef test_one():\n    pass\n"
OURS = (
    "import pytest\n\ndef test_one():\n    pytest.skip('neither jax nor torch is installed (extras `jax`, `real`)')\n"
)
FOR_A_REASON = "import pytest\n\ndef test_one():\n    pytest.skip('the rule says EXACT = False')\n"


ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # pytest itself and our hooks
SOURCES = {"test": IN_A_TEST, "file": OF_A_FILE, "ours": OURS, "reason": FOR_A_REASON}


def suite(folder: Path) -> None:
    """All that the suite's hooks read."""
    (folder / "helpers").mkdir()
    for name in (
        "conftest.py",
        "helpers/__init__.py",
        "helpers/quick_fractions.py",
        "helpers/parts.py",
        "slow.txt",
    ):
        (folder / name).write_text((TESTS / name).read_text())
    (folder / "pytest.ini").write_text("[pytest]\nmarkers = slow\n")


def outcomes(folder: Path, **env: str) -> dict[str, str]:
    """What pytest makes of each of the sources under the suite's conftest."""
    suite(folder)
    for name, source in SOURCES.items():
        (folder / f"test_{name}.py").write_text(source)
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "CI_WITHOUT", "PYTEST_ADDOPTS")}
    record = folder / "record.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--junitxml={record}"]
    command += ["--continue-on-collection-errors", str(folder)]
    subprocess.run(command, cwd=folder, env=kept | ALONE | env, capture_output=True)
    cases = ElementTree.parse(record).iter("testcase")
    found = {(case.get("classname") or case.get("name", ""), case[0].tag if len(case) else "passed") for case in cases}
    return {name.removeprefix("test_"): outcome for name, outcome in found}


def test_a_missing_package_fails_in_ci(tmp_path: Path) -> None:
    assert outcomes(tmp_path, CI="true") == {
        "test": "failure",
        "file": "error",
        "ours": "failure",
        "reason": "skipped",  # it does not say that a package is missing
    }


def test_elsewhere_it_is_a_skip(tmp_path: Path) -> None:
    assert outcomes(tmp_path) == dict.fromkeys(SOURCES, "skipped")


@pytest.mark.parametrize(("left_out", "outcome"), [("torch,no_such_package", "skipped"), ("torch", "failure")])
def test_what_a_job_leaves_out_on_purpose_is_skipped(tmp_path: Path, left_out: str, outcome: str) -> None:
    assert outcomes(tmp_path, CI="true", CI_WITHOUT=left_out)["test"] == outcome


SLOW = "import pytest\n\n@pytest.mark.slow\n@pytest.mark.parametrize('i', range(40))\ndef test_one(i):\n    pass\n"


def test_a_part_of_the_slow_tier_says_which_it_is(tmp_path: Path) -> None:
    """And how many tests it has; all parts together have all of them."""
    suite(tmp_path)
    (tmp_path / "test_it.py").write_text(SLOW)
    kept = {name: value for name, value in os.environ.items() if name != "PYTEST_ADDOPTS"} | ALONE
    counts = []
    for part in (1, 2):
        words = [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-m",
            "slow",
            "--part",
            f"{part}/2",
            ".",
        ]
        run = subprocess.run(words, cwd=tmp_path, env=kept, capture_output=True, text=True, check=True)
        counts += re.findall(rf"= part {part} of 2: (\d+) tests =", run.stdout)
        assert f"{counts[-1]} passed" in run.stdout
    assert sum(map(int, counts)) == 40
    assert len(counts) == 2


def test_the_list_of_slow_cases_follows_what_was_measured() -> None:
    listed = "tests/a.py::test_now_quick\ntests/a.py::test_not_run\n"
    seconds = {"tests/a.py::test_now_quick": 0.5, "tests/a.py::test_now_slow": 1.5}
    assert parts.slow_cases(listed, seconds) == "tests/a.py::test_not_run\ntests/a.py::test_now_slow\n"
