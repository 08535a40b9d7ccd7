"""Eighty verifiers as their authors write them, judged from their files by the command: none is judged falsely.

What is true of a file stands in its first word, was written before the file was judged, and follows no verdict. A file
with `LAYOUT` is a batched verifier, and is judged by `assert_lossless_batch`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).with_name("authors")
FILES = sorted([*FOLDER.glob("*/*.py"), *FOLDER.glob("*/package/adapter.py")])
# It keeps tokens over calls: wrong where two targets alternate, and an error where the second has fewer tokens, which
# the report shows. Which comes first is a matter of time.
MAY_RAISE = "history_in_a_default"
OUTCOMES = {0: "Lossless", 1: "Lossy", 2: "undecided", 3: "refused"}

# A batched verifier under pytest, with the statuses of the command.
BATCH = """
import sys
from specsim.base.modules import read
from specsim.testing import assert_lossless_batch
from pathlib import Path
module = read(Path(sys.argv[1]), "subject")
try:
    assert_lossless_batch(module.verify, layout=module.LAYOUT, **getattr(module, "FACTS", {}))
except AssertionError as error:
    print(error, *error.__notes__)
    sys.exit(1 if str(error).startswith("convicted") else 2)
"""


def truth(path: Path) -> str:
    """Return the first word of a file."""
    return path.read_text().partition(":")[0].strip('"')


def judged(status: int, output: str) -> str:
    """Return what the command found; Python ends with status 1, too, where it crashes."""
    if status == 1 and "convicted" not in output:
        return "crashed"
    return OUTCOMES[status]


@pytest.mark.slow
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_an_author_is_judged_as_the_file_says(path: Path) -> None:
    """In a process of its own: some change what a process holds for all."""
    is_batch = "\nLAYOUT" in path.read_text()
    command = ["-c", BATCH, str(path)] if is_batch else ["-m", "specsim", "conform", str(path)]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    if done.returncode == 2 and "give it a larger budget" in done.stdout and not is_batch:  # a slow machine
        done = subprocess.run([sys.executable, *command, "--budget", "240"], capture_output=True, text=True)
    outcome = judged(done.returncode, done.stdout)
    if path.stem == MAY_RAISE and outcome == "undecided":
        assert "not decided: raised IndexError: index" in done.stdout
    else:
        assert outcome == truth(path), done.stdout + done.stderr


def test_a_crash_is_no_conviction() -> None:
    """A file that cannot be imported would pass as a lossy one."""
    assert judged(1, "Traceback (most recent call last):") == "crashed"
    assert judged(1, "convicted        marginal") == "Lossy"
    assert judged(0, "lossless         marginal") == "Lossless"


def test_every_author_says_what_is_true() -> None:
    assert {truth(path) for path in FILES} == {"Lossless", "Lossy"}
    assert all(path.parent.name in ("lossless", "lossy", "package") for path in FILES)
    assert len(FILES) > 70
