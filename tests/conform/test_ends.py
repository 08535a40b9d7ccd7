"""However a subject behaves, the run ends in time and in a verdict, shows how far it is, and keeps what it found."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from specsim.base import clock as charged
from specsim.conform import Subject, judge, own_process
from specsim.forking.programs import scripted
from specsim.testing import assert_lossless_batch
from specsim.types import Array

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="processes are forked on Linux alone")


def right(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Rejection of one draft."""
    x = int(drafts[0])
    rest = (p - q).clip(0)
    return x if random.random() * q[x] < p[x] else int(random.choice(len(p), p=rest / rest.sum()))


class Clock:
    """Time that goes on where somebody waits, and nowhere else; an alarm goes off while it does."""

    def __init__(self) -> None:
        self.now, self.due = 1000.0, float("inf")

    def setitimer(self, which: int, seconds: float) -> None:
        self.due = self.now + seconds if seconds else float("inf")

    def wait(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.due:
            self.now, self.due = self.due, float("inf")
            handler = signal.getsignal(signal.SIGALRM)
            assert callable(handler)
            handler(signal.SIGALRM, None)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for name in ("monotonic", "process_time"):
        monkeypatch.setattr(time, name, lambda: made.now)
    monkeypatch.setattr(signal, "setitimer", made.setitimer)
    monkeypatch.setattr(charged, "seconds_waited", lambda thread: 0.0)
    return made


def waiting(clock: Clock) -> dict[str, Any]:
    """Runs of which each takes a while, some take for ever, and whole batches do."""

    def slow(p: Array, q: Array, drafts: Array, random: Any) -> int:
        clock.wait(0.9)
        return right(p, q, drafts, random)

    def hangs(*_: Any) -> Any:
        while True:
            clock.wait(0.01)

    def hangs_later(p: Array, q: Array, drafts: Array, random: Any) -> int:
        clock.wait(1e-4)
        return hangs() if len(drafts) > 1 else right(p, q, drafts, random)

    return {"slow": {"run": slow}, "later": {"run": hangs_later, "sizes": (1, 2)}, "batch": {"batch": hangs}}


@pytest.mark.parametrize(
    ("name", "outcome", "words"),
    [
        ("slow", "inconclusive", "the budget ran out"),
        ("later", "broken", "did not come back within 1 s of the processor"),
        ("batch", "broken", "did not come back within 1 s of the processor"),
    ],
)
def test_the_budget_is_kept_within_a_fifth(name: str, outcome: str, words: str, clock: Clock) -> None:
    """Whether calls are slow, some never end, or whole batches never do."""
    began = clock.now
    subject = Subject("mine", "step", **{"run": right, "sizes": (1,), **waiting(clock)[name]})
    report = judge(subject, budget=2, patience=1)
    assert 0.9 < clock.now - began < 2.4
    assert report.outcome == outcome, [verdict.words for verdict in report.verdicts]
    assert any(words in verdict.words for verdict in report.verdicts)


def endless(*_: Any) -> Any:
    while True:
        pass


def test_an_alarm_ends_what_never_ends() -> None:
    """Of its time, of which a busy machine gives less to this process than the clock on the wall shows."""
    began = time.process_time()
    report = judge(Subject("mine", "step", endless, sizes=(1,)), budget=0.5, patience=0.25)
    assert time.process_time() - began < 0.7
    assert report.outcome == "broken"
    assert "of the processor" in report.verdicts[0].words


def test_verdicts_are_said_as_they_are_reached() -> None:
    order: list[str] = []

    def run(p: Array, q: Array, drafts: Array, random: Any) -> int:
        order.append("run")
        return right(p, q, drafts, random)

    report = judge(Subject("mine", "step", run, sizes=(1,)), say=lambda verdict: order.append(verdict.property))
    said = [one for one in order if one != "run"]
    assert said == [verdict.property for verdict in report.verdicts]
    assert len(said) >= 3
    assert "run" in order[order.index(said[0]) : order.index(said[-1])], "the first is said before the last is judged"


def killed(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Dies as a wrong pointer would let it, at laws with zeros only."""
    if (p == 0).any():
        os.kill(os.getpid(), signal.SIGKILL)
    return right(p, q, drafts, random)


def leaves_the_process(p: Array, q: Array, drafts: Array, random: Any) -> int:
    os._exit(0)


def deaf(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Never comes back to Python, as far as an alarm can tell."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM])
    while True:
        pass


@LINUX
@pytest.mark.parametrize(
    ("run", "words"),
    [
        (killed, "ended the process: Killed"),
        (leaves_the_process, "ended the process: status 0"),
        (deaf, "a call did not come back to Python in"),
    ],
)
def test_what_kills_the_process_ends_in_a_verdict(run: Any, words: str) -> None:
    said: list[str] = []
    report = own_process.judge(
        Subject("mine", "step", run, sizes=(1,)),
        budget=1.0,
        patience=0.5,
        say=lambda verdict: said.append(verdict.property),
        properties=["degenerate", "marginal"],
    )
    assert (report.outcome, report.status, report.complete) == ("broken", 2, False)
    assert words in report.verdicts[-1].words
    assert said == [verdict.property for verdict in report.verdicts]


def test_a_process_of_its_own_says_the_same() -> None:
    wrong = Subject("wrong", "step", lambda p, q, drafts, random: int(drafts[0]), sizes=(1,))
    for subject in (Subject("right", "step", right, sizes=(1,)), wrong):
        how: dict[str, Any] = {"budget": 20.0, "properties": ["vacuity", "marginal"], "say": lambda verdict: None}
        one, other = (
            report._replace(seconds=0, loaded=())
            for report in (own_process.judge(subject, **how), judge(subject, **how))
        )
        assert one == other
    with pytest.raises(ValueError, match="budget"):
        own_process.judge(wrong, budget=float("nan"), say=lambda verdict: None)
    with pytest.raises(ValueError, match="property 'none' is unknown"):
        own_process.judge(wrong, budget=1.0, say=lambda verdict: None, properties=["none"])


PATIENT = """
import signal, time
from specsim.conform import Subject
signal.signal(signal.SIGINT, signal.default_int_handler)  # whatever the shell of the tests does with it
calls = []

def run(p, q, drafts, random):
    calls.append(1)
    if len(calls) > 60:
        time.sleep(0.05)
    x = drafts[0]
    rest = (p - q).clip(0)
    return x if random.random() * q[x] < p[x] else random.choice(len(p), p=rest / rest.sum())

def subjects():
    return [Subject(name, "step", run, sizes=(1,)) for name in ("first", "second")]
"""


@LINUX
def test_an_interrupted_command_keeps_its_part(tmp_path: Path) -> None:
    """Ctrl-C after the first verdict was shown: the page has that verdict, and says that it is a part."""
    mine, out = tmp_path / "mine.py", tmp_path / "mine.html"
    mine.write_text(PATIENT)
    command = [sys.executable, "-m", "specsim", "conform", str(mine), "--html", str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline(), process.stdout.readline()]
        assert process.poll() is None, "it shows what it has while it goes on"
        process.send_signal(signal.SIGINT)
        said, _ = process.communicate(timeout=20)
    assert lines[1].startswith("lossless         vacuity")
    assert "first: inconclusive (interrupted: what is above is a part)" in said
    assert "second" not in said
    assert process.returncode == 2
    page = out.read_text(encoding="utf-8")
    assert "This is a part: interrupted" in page
    assert "vacuity" in page


def emits_nan(p: Array, q: Array, drafts: Array, random: Any) -> float:
    return float("nan")


def emits_rows(p: Array, q: Array, drafts: Array, random: Any) -> Any:
    return np.zeros(len(p), dtype=int)


def emits_the_impossible(p: Array, q: Array, drafts: Array, random: Any) -> int:
    """Right, but for a token that the target excludes, once in a while."""
    gone = np.flatnonzero(p == 0)
    return int(gone[0]) if len(gone) and random.random() < 1e-3 else right(p, q, drafts, random)


def crashes(p: Array, q: Array, drafts: Array, random: Any) -> int:
    raise MemoryError("no more")


@pytest.mark.parametrize(
    ("run", "outcome", "words"),
    [
        (crashes, "broken", "raised MemoryError: no more"),
        (emits_nan, "broken", "returned nan as token"),
        (emits_rows, "broken", "returned array([0, 0, 0]) as token"),
        (emits_the_impossible, "convicted", "(0,) has probability 0.999, not 1 (V=2, 1 draft)"),
    ],
)
def test_each_ends_in_a_verdict(run: Any, outcome: str, words: str) -> None:
    report = judge(Subject("mine", "step", run, sizes=(1,)), budget=10, properties=["degenerate", "marginal"])
    assert report.outcome == outcome, [verdict.words for verdict in report.verdicts]
    assert any(words in verdict.words for verdict in report.verdicts), [v.words for v in report.verdicts]


def test_an_exact_law_is_given_up_in_time() -> None:
    """More paths than fit in the budget: too long, and not a part of them."""

    def wide(random: Any) -> int:
        return sum(bool(random.random() < 0.5) for _ in range(30))

    with pytest.raises(scripted.TooLong):
        scripted.law(wide, deadline=charged.now() + 0.05)


def test_no_property_is_refused() -> None:
    """A judgement of nothing would pass; the door in front of `judge` says the same."""
    with pytest.raises(ValueError, match="properties is empty: name at least one, or leave it out"):
        judge(Subject("right", "step", right), properties=[])
    with pytest.raises(ValueError, match="properties is empty"):
        assert_lossless_batch(lambda p, q, drafts, ends, bonus: drafts, layout="flat", properties=[])
