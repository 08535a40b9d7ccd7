"""Log-probabilities that are reported are the target's, of the tokens emitted, before or after sampling parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from specsim.conform.cases import Case, standard
from specsim.conform.observation import Observation
from specsim.conform.properties import parameters
from specsim.conform.properties._laws import Look, each
from specsim.conform.subject import UNCHANGED, Subject
from specsim.conform.subject_call import Answer
from specsim.conform.toys import Text
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it reports no log-probabilities (logprobs)"
ROUNDED = 1e-5  # they are kept to six digits
LOWEST = -745.0  # what stands for the logarithm of 0


class Reported(NamedTuple):
    """A value that is reported for a token of a text, and what it should be."""

    text: Text
    place: int
    value: float | None  # none was reported
    target: float | None  # there is no such token

    @property
    def error(self) -> float:
        """Difference of the two; as large as any if one of them is missing."""
        if self.value is None or self.target is None:
            return -LOWEST
        return abs(max(self.value, LOWEST) - max(self.target, LOWEST))


def cases(subject: Subject) -> Iterable[Case]:
    """The standard ones, and under sampling parameters."""
    return [*standard(subject), *parameters.cases(subject)] if subject.logprobs else []


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Of subjects that report them; every answer shows by itself whether they are right."""
    if not subject.logprobs:
        return None

    def look(seen: Observation) -> Look:
        found = max((one for answer in seen.law for one in reported(subject, seen.case, answer)), key=_error)
        limit = max(ROUNDED, 2 * seen.rounding)
        key = f"token {found.place} of {found.text}"
        expected = {} if found.target is None else {key: found.target}
        observed = {} if found.value is None else {key: found.value}
        how = "one call" if seen.evidence == "Monte Carlo" else seen.evidence
        return Look(found.error, limit, limit, expected, observed, how, width=0)

    found = each("logprobs", subject, trial, cases(subject), look)
    return found if found.counterexample is None else found._replace(words=_words(found, subject))


def reported(subject: Subject, case: Case, answer: Answer) -> list[Reported]:
    """Value by value; the longer of text and values says how many."""
    values = answer.logprobs or ()
    law = case.p if subject.logprobs == "warped" else case._replace(sampling_params=UNCHANGED).p
    out = []
    for i in range(max(len(values), len(answer.text))):
        value = values[i] if i < len(values) else None
        target = None
        if i < len(answer.text):
            p = float(law(answer.text[:i])[answer.text[i]])
            target = math.log(p) if p > 0 else -math.inf
        out.append(Reported(answer.text, i, value, target))
    return out or [Reported((), 0, 0.0, 0.0)]


def _error(one: Reported) -> float:
    return one.error


def _words(found: Verdict, subject: Subject) -> str:
    shown = found.counterexample
    assert shown is not None
    said, due = (next((f"{v:.4g}" for v in law.values()), "nothing") for law in (shown.observed, shown.expected))
    return f"{shown.outcome}: {said} is reported where {due} is its {subject.logprobs} logarithm ({shown.case})"
