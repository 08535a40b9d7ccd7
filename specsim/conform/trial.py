"""One judgement of one subject: its time, its calls and its findings, which every property is passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from specsim.conform.budget import Budget
from specsim.conform.caller import Caller
from specsim.conform.findings import Findings
from specsim.conform.subject import Subject
from specsim.conform.verdict import Evidence


class Trial(NamedTuple):
    """The three objects of a judgement; each is changed by its own methods alone."""

    budget: Budget
    caller: Caller
    findings: Findings
    shrinks: bool = True  # whether a counterexample is made small

    @property
    def subject(self) -> Subject:
        """The subject that is called."""
        return self.caller.subject


def begin(
    subject: Subject,
    *,
    deadline: float,
    patience: float,
    delta: float,
    seed: int,
    grace: float = 1.0,
    kinds: Sequence[Evidence] | None = None,
    shrinks: bool = True,
) -> Trial:
    """Begin the judgement of a subject, which ends at a deadline (of clock.now), at most `grace` seconds later.

    `kinds` is the evidence that is asked for, the strongest first; all that the subject allows if
    not given.
    """
    budget = Budget(deadline, patience, grace)
    findings = Findings(subject, delta, kinds)
    caller = Caller(subject, seed, budget, findings.note)
    return Trial(budget, caller, findings, shrinks)
