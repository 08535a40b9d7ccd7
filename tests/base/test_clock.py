"""Time is charged to a subject only where it was the subject's; what is left over goes to others."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import specsim
from specsim.base import clock
from specsim.conform import Report, Subject, Verdict, own_process, sharing


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> dict[str, float]:
    """What the clock on the wall and the operating system say."""
    said = {"wall": 0.0, "waited": 0.0}
    monkeypatch.setattr(time, "monotonic", lambda: said["wall"])
    monkeypatch.setattr(clock, "seconds_waited", lambda thread: said["waited"])
    monkeypatch.setattr(clock, "JAX", "no such module")
    for name, value in (("wall", 0.0), ("waited", 0.0), ("charged", 0.0)):
        monkeypatch.setattr(clock._Reading, name, value)
    return said


def test_waiting_for_a_processor_is_not_charged(machine: dict[str, float]) -> None:
    began = clock.now()
    machine["wall"], machine["waited"] = 10.0, 7.5
    assert clock.now() - began == pytest.approx(2.5)
    machine["wall"] = 14.0
    assert clock.now() - began == pytest.approx(6.5), "on a quiet machine all of it is"
    machine["wall"], machine["waited"] = 114.0, 107.5
    assert clock.now() - began == pytest.approx(16.5), "but a judgement ends on a machine that is never free"


def test_what_was_used_is_not_asked_for_at_every_call(monkeypatch: pytest.MonkeyPatch) -> None:
    """To ask takes milliseconds where a process has many threads: most of a judgement by frequencies was that."""
    said = {"wall": 100.0, "asked": 0.0}

    def used() -> float:
        said["asked"] += 1
        return said["asked"]

    monkeypatch.setattr(time, "monotonic", lambda: said["wall"])
    monkeypatch.setattr(time, "process_time", used)
    for name, value in (("process", -1), ("wall", 0.0), ("seconds", 0.0)):
        monkeypatch.setattr(clock._Used, name, value)
    assert [clock.used_lately() for _ in range(3)] == [1, 1, 1]
    said["wall"] += 2 * clock.STEP
    assert clock.used_lately() == 2
    monkeypatch.setattr(os, "getpid", lambda: -2)
    assert clock.used_lately() == 3, "a new process has used nothing yet"


def test_a_short_step_is_not_asked_for(machine: dict[str, float]) -> None:
    machine["wall"], machine["waited"] = 0.04, 0.04
    assert clock.now() == pytest.approx(0.04)
    machine["wall"] = 0.08
    assert clock.now() == pytest.approx(0.04), "what was waited is taken off with the next reading"


def test_the_numbers_of_the_system_are_read() -> None:
    assert clock.seconds_waited(Path("/proc/nobody")) == 0
    assert clock.seconds_used(-1) == 0
    until = time.process_time() + 0.03
    while time.process_time() < until:
        pass
    assert clock.seconds_used(os.getpid()) > 0


def verdicts(*outcomes: str) -> tuple[Verdict, ...]:
    words = {"inconclusive": "give it a larger budget"}
    return tuple(
        Verdict("", name, outcome, words=words.get(outcome, ""))  # type: ignore[arg-type]
        for name, outcome in zip(("marginal", "joint"), outcomes, strict=False)
    )


def shared(
    monkeypatch: pytest.MonkeyPatch, looks: dict[str, list[Report]], budget: float = 60.0
) -> tuple[list[Report], list[tuple[str, float, Any]]]:
    """The reports, and who was judged for how long by which properties."""
    told: list[tuple[str, float, Any]] = []

    def judge(subject: Subject, *, budget: float, properties: Sequence[str] | None, **_: Any) -> Report:
        told.append((subject.name, budget, properties))
        return looks[subject.name].pop(0)

    monkeypatch.setattr(own_process, "judge", judge)
    subjects = [Subject(name, "step", print) for name in looks]
    return sharing.judge_all(subjects, budget=budget, false_alarm=1e-6), told


def test_a_budget_left_over_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    first = Report("a", verdicts("lossless", "inconclusive"), seconds=20)
    again = Report("a", (Verdict("a", "joint", "convicted"),), seconds=5)
    reports, told = shared(
        monkeypatch,
        {
            "a": [first, again],
            "b": [Report("b", verdicts("lossless"), seconds=2)],
            "c": [Report("c", verdicts("broken"), seconds=1)],
        },
    )
    assert told == [("a", 20, None), ("b", 20, None), ("c", 38, None), ("a", 37, ["joint"])]
    assert [report.outcome for report in reports] == ["convicted", "lossless", "broken"]
    assert reports[0].seconds == 25


def test_the_end_of_a_second_look_is_of_both(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words that came last said lossless of a subject that the first look had measured a fault of."""
    first = Report("a", (*verdicts("lossless", "inconclusive"), Verdict("a", "degenerate", "measured")))
    looks = [first, Report("a", (Verdict("a", "joint", "lossless"),)), Report("b", verdicts("lossless"))]
    ended: list[Report] = []
    monkeypatch.setattr(own_process, "judge", lambda subject, **_: looks.pop(0 if subject.name == "a" else -1))
    subjects = [Subject(name, "step", print) for name in "ab"]
    sharing.judge_all(subjects, budget=60, false_alarm=1e-6, end=ended.append)
    assert [report.subject for report in ended] == ["a", "b", "a"]
    assert [verdict.outcome for verdict in ended[-1].verdicts if verdict.property == "degenerate"] == ["measured"]


def test_what_is_undecided_for_other_reasons_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    near_tie = Report("a", (Verdict("a", "greedy", "inconclusive", words="a near tie"),))
    told = shared(monkeypatch, {"a": [near_tie], "b": [near_tie]})[1]
    assert [name for name, *_ in told] == ["a", "b"]


def test_a_subject_that_dies_does_not_end_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    died = Report("a", (Verdict("a", "all", "broken", words="ended the process"),), complete=False)
    reports, told = shared(monkeypatch, {"a": [died], "b": [Report("b", verdicts("lossless"))]})
    assert [report.outcome for report in reports] == ["broken", "lossless"]
    stopped = Report("a", verdicts("lossless"), complete=False)
    reports, told = shared(monkeypatch, {"a": [stopped], "b": []})
    assert [name for name, *_ in told] == ["a"], "whoever interrupts it wants an end"


def test_a_second_look_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was killed for being late is asked for everything; what a second look leaves open stays open."""
    killed = Report("a", (Verdict("a", "all", "inconclusive", words="give it a larger budget"),), complete=False)
    whole = Report("a", verdicts("lossless", "inconclusive"))
    reports, told = shared(monkeypatch, {"a": [killed, whole], "b": [Report("b", verdicts("lossless"))]})
    assert told[-1] == ("a", 60, None)
    assert (reports[0].outcome, reports[0].complete, len(reports[0].verdicts)) == ("inconclusive", True, 2)


def test_no_file_of_a_judgement_looks_at_the_wall() -> None:
    """Deadlines are of `clock.now`: where they are compared with another clock, nothing or all is late."""
    files = [path for room in ("conform", "forking") for path in (Path(specsim.__file__).parent / room).rglob("*.py")]
    assert len(files) > 100
    found = [path.name for path in files if "time.monotonic()" in path.read_text(encoding="utf-8")]
    assert found == ["own_process.py"]
