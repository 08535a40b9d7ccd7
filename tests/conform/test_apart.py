"""A judgement in a process of its own: what ends the process is said, and the process ends with the one that waits."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from helpers.authors import conform

from specsim.conform import Report, Subject, Verdict, judgement, own_process

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux")
ROOT = Path(__file__).parents[2]


def judged(run: Callable[..., Any], budget: float = 10.0, patience: float = 0.1) -> tuple[Report, list[Verdict]]:
    said: list[Verdict] = []
    subject = Subject("mine", "step", run, sizes=(1,))
    return own_process.judge(subject, budget=budget, patience=patience, properties=["marginal"], say=said.append), said


def segfault() -> None:
    faulthandler.disable()  # its traceback is no part of this
    os.kill(os.getpid(), signal.SIGSEGV)


@pytest.mark.parametrize(
    ("end", "words"),
    [
        (segfault, "ended the process: Segmentation fault"),
        (lambda: os._exit(3), "ended the process: status 3"),
    ],
)
def test_a_process_that_dies_says_so(end: Callable[[], None], words: str) -> None:
    """B9: the terminal has the reason, as JSON has."""
    report, said = judged(lambda *_: end())
    assert (report.outcome, report.complete, report.interrupted) == ("broken", False, False)
    assert [verdict.words for verdict in said] == [words]


def test_the_terminal_says_how_a_process_died(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text(
        "import os\nfrom specsim.conform import Subject\n"
        "def subjects():\n    return [Subject(n, 'step', lambda *_: os._exit(3), sizes=(1,)) for n in 'ab']\n"
    )
    status, said = conform(str(mine), "--budget", "5")
    assert status == 2
    assert said.count("broken           all         not decided: ended the process: status 3") == 2, "both are judged"
    assert "a: broken (it ended before all was judged: what is above is a part)" in said


def without_signals(work: Callable[[], None]) -> Callable[..., None]:
    """What never returns to Python takes no signal of the guard's."""

    def run(*_: Any) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        while True:
            work()

    return run


@pytest.mark.parametrize(
    ("work", "outcome"), [(lambda: None, "broken"), (lambda: time.sleep(9), "inconclusive")], ids=["works", "waits"]
)
def test_what_never_returns_to_python_is_killed(
    work: Callable[[], None], outcome: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Broken is what had its patience of the processor; what waited for something did not."""
    monkeypatch.setattr(own_process, "AT_LEAST", 0.2)
    report, said = judged(without_signals(work), budget=0.2, patience=0.05)
    assert report.outcome == outcome
    assert "a call did not come back to Python in" in said[-1].words


def test_a_late_judge_is_not_the_subjects_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    """The harness is given twice the time, and then nothing is known."""
    report = Report("mine", (Verdict("mine", "marginal", "lossless"),))

    def late(subject: Subject, **_: Any) -> Report:
        time.sleep(0.3 if subject.name == "mine" else 60)
        return report

    monkeypatch.setattr(judgement, "judge", late)
    monkeypatch.setattr(own_process, "AT_LEAST", 0.1)
    assert judged(print, budget=0.1)[0] == report, "it ends after 1.15 of its budget, and is heard"
    killed = own_process.judge(Subject("other", "step", print), budget=0.1, say=lambda verdict: None)
    assert (killed.outcome, killed.verdicts[-1].wants_time) == ("inconclusive", True)
    assert "the harness did not end" in killed.verdicts[-1].words


HANGS = """
import os, pathlib, signal, sys, time
from specsim.conform import Subject, own_process

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # which a run under nohup ignores

def hangs(*_):
    pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM, signal.SIGTERM, signal.SIGHUP})
    while True:
        time.sleep(1)

own_process.judge(Subject("hangs", "step", hangs), budget=600, say=print)
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and that nobody has asked for is not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL], ids=lambda one: one.name)
def test_the_process_ends_with_the_one_that_waits(number: signal.Signals, tmp_path: Path) -> None:
    """It hangs where no signal reaches it, and would use a core for ever."""
    written = tmp_path / "pid"
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    parent = subprocess.Popen([sys.executable, "-c", HANGS, str(written)], env=environment)
    try:
        until = time.monotonic() + 60
        while not (written.exists() and written.read_text()) and time.monotonic() < until:
            time.sleep(0.02)
        child = int(written.read_text())
        assert is_alive(child)
        parent.send_signal(number)
        assert parent.wait(30) == -number, "it ends by the signal, as without a handler"
        while is_alive(child) and time.monotonic() < until:
            time.sleep(0.02)
        assert not is_alive(child)
    finally:
        parent.kill()
        parent.wait()
