"""In CI a skip for a missing package is an error: the suite's own hook, run on tests of three lines."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
IN_A_TEST = "import pytest\n\ndef test_one():\n    pytest.importorskip('no_such_package')\n"
OF_A_FILE = "import pytest\n\npytest.importorskip('no_such_package')\n\ndef test_one():\n    pass\n"
OURS = (
    "import pytest\n\ndef test_one():\n    pytest.skip('neither jax nor torch is installed (extras `jax`, `real`)')\n"
)
FOR_A_REASON = "import pytest\n\ndef test_one():\n    pytest.skip('the rule says EXACT = False')\n"


def status(folder: Path, source: str, **env: str) -> int:
    """Exit status of pytest on one file under the suite's conftest."""
    (folder / "helpers").mkdir(exist_ok=True)
    for name in ("conftest.py", "helpers/minutes.txt"):  # all that the hook reads
        (folder / name).write_text((TESTS / name).read_text())
    (folder / "test_it.py").write_text(source)
    (folder / "pytest.ini").write_text("[pytest]\n")
    kept = {name: value for name, value in os.environ.items() if name not in ("CI", "CI_WITHOUT", "PYTEST_ADDOPTS")}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", str(folder)]
    return subprocess.run(command, cwd=folder, env=kept | env, capture_output=True).returncode


@pytest.mark.parametrize("source", [IN_A_TEST, OF_A_FILE, OURS], ids=["test", "file", "ours"])
def test_a_missing_package_fails_in_ci_only(tmp_path: Path, source: str) -> None:
    assert status(tmp_path, source, CI="true") in (1, 2)
    assert status(tmp_path, source) in (0, 5)


def test_what_a_job_leaves_out_on_purpose_is_skipped(tmp_path: Path) -> None:
    assert status(tmp_path, IN_A_TEST, CI="true", CI_WITHOUT="torch,no_such_package") == 0
    assert status(tmp_path, IN_A_TEST, CI="true", CI_WITHOUT="torch") == 1


def test_other_reasons_are_reasons(tmp_path: Path) -> None:
    assert status(tmp_path, FOR_A_REASON, CI="true") == 0
