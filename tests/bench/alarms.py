"""False alarms on lossless subjects, each judged by the harness: `python tests/bench/alarms.py` writes alarms.json.

A subject draws one draft by tokenwise rejection, for the rows of a batch at once, with random numbers of a generator of
its own, which no script can follow: it is judged by frequencies in all of the standard cases, as what cannot be
scripted is. The rate is of the whole report, and large, so that one that is not kept shows.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from specsim.conform import Subject, judge
from specsim.conform.verdict import Report
from specsim.types import Array

OUT = Path(__file__).with_suffix(".json")
SUBJECTS, RATE, SHOWN = 1000, 0.05, 10
PROPERTIES = ("marginal",)


def subject(number: int, shift: float = 0.0) -> Subject:
    """Lossless; with a `shift` a token of 0 becomes 1 that often."""
    own = np.random.default_rng(number)

    def rows(p: Array, q: Array, drafts: Array, random: Any) -> Array:
        at, x = np.arange(len(p)), drafts[:, 0]
        rest = (p - q).clip(0) + 1e-300
        ends = (rest / rest.sum(axis=1, keepdims=True)).cumsum(axis=1)
        other = (ends[:, :-1] <= own.random((len(p), 1))).sum(axis=1)
        y = np.where(own.random(len(p)) * q[at, x] < p[at, x], x, other)
        return np.where((y == 0) & (own.random(len(p)) < shift), 1, y)

    def one(p: Array, q: Array, drafts: Array, random: Any) -> int:
        return int(rows(p[None], q[None], drafts[None], random)[0])

    return Subject(f"rows {number}", "step", one, sizes=(1,), batch=rows)


def judged(number: int, shift: float = 0.0) -> Report:
    """One subject."""
    return judge(subject(number, shift), properties=PROPERTIES, false_alarm=RATE, seed=number, budget=600)


def line(report: Report) -> list[Any]:
    """What is kept of a report: its outcome, and the runs of every property."""
    return [report.outcome, *(verdict.runs for verdict in report.verdicts)]


def recorded(subjects: int = SUBJECTS) -> dict[str, Any]:
    """The counts, and the first lines."""
    lines = [line(judged(number)) for number in range(subjects)]
    outcomes = [one[0] for one in lines]
    return {
        "command": "python tests/bench/alarms.py",
        "subjects": subjects,
        "false-alarm rate": RATE,
        "properties": list(PROPERTIES),
        "outcomes": {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))},
        "runs": sum(sum(one[1:]) for one in lines),
        "first": lines[:SHOWN],
    }


if __name__ == "__main__":
    OUT.write_text(json.dumps(recorded(), indent=1) + "\n", encoding="utf-8")
