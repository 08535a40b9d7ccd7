"""Right subjects whose first call takes two seconds pass on a busy machine; `test_clock.py` is the quick twin."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.authors import RIGHT, conform

pytestmark = pytest.mark.slow
SUBJECTS = f"""
import time
from specsim.conform import Subject

def made(i):
    calls = []
    def run(p, q, drafts, random):
        until = time.process_time() + (0 if calls else 2)
        calls.append(1)
        while time.process_time() < until:
            pass
        x = drafts[0]
        return x if random.random() * q[x] < p[x] else random.choice(len(p), p={RIGHT})
    return Subject(f"right {{i}}", "step", run, sizes=(1,))

def subjects():
    return [made(i) for i in range(COUNT)]
"""


@pytest.fixture
def _busy() -> Iterator[None]:
    """Four loops, which leave this process less than half of two cores."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(4)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.usefixtures("_busy")
@pytest.mark.parametrize("count", [18, 4])
def test_a_first_call_of_two_seconds_is_no_fault(count: int, tmp_path: Path) -> None:
    """B4: with a budget of a minute for all of them, as with the default."""
    mine = tmp_path / "mine.py"
    mine.write_text(SUBJECTS.replace("COUNT", str(count)))
    status, said = conform(str(mine), "--budget", "60")
    assert (status, said.count(": lossless where tried (")) == (0, count), said
