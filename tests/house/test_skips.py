"""In CI a skip for a missing package is an error: the suite's own hook, run on tests of three lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

TESTS = Path(__file__).parents[1]
IN_A_TEST = "import pytest\n\ndef test_one():\n    pytest.importorskip('no_such_package')\n"
OF_A_FILE = "import pytest\n\npytest.importorskip('no_such_package')\n\ndef test_one():\n    pass\n"
OURS = (
    "import pytest\n\ndef test_one():\n    pytest.skip('neither jax nor torch is installed (extras `jax`, `real`)')\n"
)
FOR_A_REASON = "import pytest\n\ndef test_one():\n    pytest.skip('the rule says EXACT = False')\n"


SOURCES = {"test": IN_A_TEST, "file": OF_A_FILE, "ours": OURS, "reason": FOR_A_REASON}


def outcomes(folder: Path, **env: str) -> dict[str, str]:
    """What pytest makes of each of the sources under the suite's conftest."""
    (folder / "helpers").mkdir()
    for name in ("conftest.py", "helpers/minutes.txt"):  # all that the hook reads
        (folder / name).write_text((TESTS / name).read_text())
    for name, source in SOURCES.items():
        (folder / f"test_{name}.py").write_text(source)
    (folder / "pytest.ini").write_text("[pytest]\n")
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "CI_WITHOUT", "PYTEST_ADDOPTS")}
    record = folder / "record.xml"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", f"--junitxml={record}"]
    command += ["--continue-on-collection-errors", str(folder)]
    subprocess.run(command, cwd=folder, env=kept | env, capture_output=True)
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
