"""Log-probabilities that are reported are the target's, of the tokens emitted, before or after sampling parameters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

from specsim.conform.cases import Case
from specsim.conform.observation import Observation
from specsim.conform.properties import parameters
from specsim.conform.properties._laws import Look, each
from specsim.conform.standard_cases import standard
from specsim.conform.subject import UNCHANGED, Subject
from specsim.conform.subject_call import Answer
from specsim.conform.toys import Text
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it reports no log-probabilities (logprobs)"
# Log-probabilities are compared after rounding to six digits.
ROUNDED = 1e-5
# Stands for the logarithm of 0: about that of the smallest float64.
LOWEST = -745.0


class Reported(NamedTuple):
    """A value that is reported for a token of a text, and the target's."""

    text: Text
    place: int
    # None where none was reported.
    value: float | None
    # None where the text has no such token.
    target: float | None

    @property
    def error(self) -> float:
        """Return the difference of the two; as large as any if one of them is missing."""
        if self.value is None or self.target is None:
            return -LOWEST
        return abs(max(self.value, LOWEST) - max(self.target, LOWEST))


def cases(subject: Subject) -> Iterable[Case]:
    """Return the standard cases, and cases under sampling parameters, if the subject reports log-probabilities."""
    return [*standard(subject), *parameters.cases(subject)] if subject.logprobs else []


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict on a subject that reports them; every single answer shows whether they are right."""
    if not subject.logprobs:
        return None

    def look(observation: Observation) -> Look:
        """Compare the value that is the furthest off with the target's."""
        every = (value for answer in observation.law for value in reported(subject, observation.case, answer))
        worst = max(every, key=lambda value: value.error)
        limit = max(ROUNDED, 2 * observation.rounding)
        key = f"token {worst.place} of {worst.text}"
        expected = {} if worst.target is None else {key: worst.target}
        observed = {} if worst.value is None else {key: worst.value}
        how = "one call" if observation.evidence == "Monte Carlo" else observation.evidence
        return Look(worst.error, limit, limit, expected, observed, how, width=0)

    # An error of any size above rounding convicts; the words name the token.
    result = each("logprobs", subject, trial, cases(subject), look)
    return result if result.counterexample is None else result._replace(words=_words(result, subject))


def reported(subject: Subject, case: Case, answer: Answer) -> list[Reported]:
    """Return the values of an answer with the target's, as many as the longer of text and values has."""
    values = answer.logprobs or ()
    law = case.p if subject.logprobs == "warped" else case._replace(sampling_params=UNCHANGED).p
    pairs = []
    for place in range(max(len(values), len(answer.text))):
        value = values[place] if place < len(values) else None
        target = None
        if place < len(answer.text):
            p = float(law(answer.text[:place])[answer.text[place]])
            target = math.log(p) if p > 0 else -math.inf
        pairs.append(Reported(answer.text, place, value, target))
    return pairs or [Reported((), 0, 0.0, 0.0)]


def _words(result: Verdict, subject: Subject) -> str:
    """Return in words which value is reported, and which would be right."""
    shown = result.counterexample
    assert shown is not None
    laws = (shown.observed, shown.expected)
    value, due = (next((f"{v:.4g}" for v in law.values()), "nothing") for law in laws)
    return f"{shown.outcome}: {value} is reported where {due} is its {subject.logprobs} logarithm ({shown.case})"
