"""Drafts are kept, and drafts are rejected: where one never happens, the other properties say nothing."""

from __future__ import annotations

from collections.abc import Iterable

from specsim.conform.cases import Case
from specsim.conform.fitting import through
from specsim.conform.observing import observe
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "a decoder must return single blocks (block=True): which of its tokens were drafts is not seen"


def cases(subject: Subject) -> Iterable[Case]:
    """Return cases in which every lossless rule that is any good keeps drafts, and rejects some."""
    return () if subject.kind == "decoder" and not subject.block else standard(subject)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return one verdict on all cases together: drafts are accepted, and drafts are rejected."""
    if subject.kind == "decoder" and not subject.block:
        return None
    before, accepted, rejected, observation, reach = trial.caller.runs, 0.0, 0.0, None, "the standard cases"
    number = 0

    # Sum the mean numbers of accepted and of rejected drafts over the cases.
    for case in through(trial, cases(subject)):
        try:
            observation = observe(trial, case)
        except OutOfTime:
            if min(accepted, rejected) <= 0:
                raise
            reach = "the first of the standard cases: the budget ran out"
            break
        number += 1
        mean = observation.mean(lambda answer: answer.num_accepted)
        accepted += mean
        rejected += (case.length - 1 if subject.kind != "step" else 1) - mean
    assert observation is not None
    result = Verdict(subject.name, "vacuity", "lossless", observation.evidence, reach, trial.caller.runs - before)
    if min(accepted, rejected) > 0:
        words = f"a mean of {accepted / number:.3g} drafts kept and {rejected / number:.3g} rejected in {number} cases"
        return result._replace(words=words)
    never = "kept" if accepted == 0 else "rejected"
    return result._replace(outcome="vacuous", words=f"no draft was ever {never}")
