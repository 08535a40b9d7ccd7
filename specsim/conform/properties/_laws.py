"""A property that compares laws, case by case: the first case that differs convicts, and is shrunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from specsim.base import clock
from specsim.conform.cases import Case
from specsim.conform.doubts import AGAIN, doubt
from specsim.conform.evidence import montecarlo
from specsim.conform.fitting import through
from specsim.conform.given import given
from specsim.conform.observation import Observation, distance, key_of
from specsim.conform.observing import observe as observe_once
from specsim.conform.smaller import simple
from specsim.conform.subject import Subject
from specsim.conform.subject_call import inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.conform.verdict import LARGER, Counterexample, Evidence, Outcome, Verdict

# Distance that a shrunken counterexample shows at least.
VISIBLE = 1e-3
# Seconds for making a counterexample smaller.
SHRINKING = 5.0
WEAKEST: tuple[Evidence, ...] = ("one call", "Monte Carlo", "coins", "scripted", "bound")
Observe = Callable[..., Observation]  # (case, *, exact) -> what is seen in it


class Look(NamedTuple):
    """One observation under one property: it convicts if the distance is above what is allowed."""

    distance: float
    allowed: float
    found: float  # smallest distance that would have been seen
    expected: dict[Any, float]
    observed: dict[Any, float]
    evidence: Evidence = "none"
    width: float = 1.0  # the distance is of something in [0, width]; 0: every answer shows by itself what is wrong


def of_laws(seen: Observation, observed: dict[Any, float], expected: dict[Any, float]) -> Look:
    """Return the total variation of two laws, and what rounding or chance allow."""
    tv, law = distance(observed, expected), list(expected.values())
    if seen.evidence != "Monte Carlo":
        return Look(tv, seen.rounding, seen.rounding, expected, observed, seen.evidence)
    limit = montecarlo.allowed(law, seen.runs, seen.delta)
    return Look(tv, limit, montecarlo.found(law, seen.runs, seen.delta), expected, observed, seen.evidence)


def each(
    name: str,
    subject: Subject,
    trial: Trial,
    cases: Iterable[Case],
    look: Callable[[Observation], Look],
    observe: Observe | None = None,
    begun: int | None = None,
) -> Verdict:
    """Return the verdict of a property that every case must have; `observe` observes a case otherwise than alone.

    Where the cases are looked at again, `begun` is the number of the subject's runs before the first time.
    """
    caller, findings = trial.caller, trial.findings
    observe, cases = observe or partial(observe_once, trial), list(cases)
    looks: list[tuple[Case, Look]] = []
    runs = caller.runs if begun is None else begun
    reach, doubted, hidden = list[str](), None, findings.is_hidden
    for case in through(trial, cases):
        try:
            seen = observe(case)
        except OutOfTime:
            if not looks or findings.dependent.get(key_of(case), False):
                raise
            reach.append("and no further: the budget ran out")
            break
        found = look(seen)
        looks.append((case, found))
        reach.append(case.words.partition(": ")[0])
        if found.distance > found.allowed:
            why = doubt(trial, seen, found.distance / found.width, observe) if found.width else ""
            if why == AGAIN:
                return each(name, subject, trial, cases, look, observe, runs)
            if why:  # another case may convict
                doubted = doubted or _undecided(name, subject, found, case, caller.runs - runs, why)
                continue
            return _convicted(name, subject, trial, case, found, look, caller.runs - runs, observe)
    if findings.is_hidden and not hidden:  # cases before were taken for exact
        return each(name, subject, trial, cases, look, observe, runs)
    if doubted is not None:
        return doubted
    worst = max((one.distance for _, one in looks if one.evidence != "Monte Carlo"), default=0.0)
    kind = min((one.evidence for _, one in looks), key=WEAKEST.index)
    widest = max(one.found for _, one in looks)
    words = "; ".join(findings.why)
    where = "; ".join(dict.fromkeys([*reach, *findings.untaken.values()]))
    if kind == "Monte Carlo":
        where += f"; total variations from {widest:.2g} would be seen"
        if widest > montecarlo.UNDECIDED:
            words = f"too few runs to see a total variation below {widest:.2g}: give it {LARGER}"
            words = "; ".join([words, *findings.why])
            return Verdict(subject.name, name, "inconclusive", kind, where, caller.runs - runs, worst, None, words)
    return Verdict(subject.name, name, "lossless", kind, where, caller.runs - runs, worst, None, words)


def _undecided(name: str, subject: Subject, found: Look, case: Case, runs: int, why: str) -> Verdict:
    """Return the verdict on a distance that convicts nobody."""
    return Verdict(subject.name, name, "inconclusive", found.evidence, case.words, runs, found.distance, None, why)


def _convicted(
    name: str,
    subject: Subject,
    trial: Trial,
    case: Case,
    found: Look,
    look: Callable[[Observation], Look],
    runs: int,
    observe: Observe,
) -> Verdict:
    smaller, shown = case, found
    if found.evidence != "Monte Carlo" and trial.shrinks:
        smaller, shown = _shrunk(subject, trial, case, look, observe) or (case, found)
    said = against(name, subject, smaller, shown, runs)
    return said._replace(evidence=found.evidence, reach=case.words, distance=found.distance)


def against(name: str, subject: Subject, case: Case, found: Look, runs: int) -> Verdict:
    """Return the verdict that follows from one case."""
    counterexample = _counterexample(subject, case, found)
    outcome: Outcome = "convicted" if subject.lossless else "lossy by design"
    words = f"{counterexample.outcome} has probability {counterexample.observed.get(counterexample.outcome, 0):.4g}"
    words += f", not {counterexample.expected.get(counterexample.outcome, 0):.4g} ({counterexample.case})"
    return Verdict(subject.name, name, outcome, found.evidence, case.words, runs, found.distance, counterexample, words)


def _shrunk(
    subject: Subject, trial: Trial, case: Case, look: Callable[[Observation], Look], observe: Observe
) -> tuple[Case, Look] | None:
    """Return the first of the simple cases that convicts, too; None if none does in time."""
    until = clock.now() + min(SHRINKING, trial.budget.left() / 3)
    for smaller in simple(subject, case):
        if clock.now() > until:
            break
        try:
            found = look(observe(smaller, exact=True))
        except OutOfTime:
            break
        except Exception:  # a broken answer is a verdict of its own, and not this one
            continue
        if found.distance > max(found.allowed, VISIBLE):
            return smaller, found
    return None


def _counterexample(subject: Subject, case: Case, found: Look) -> Counterexample:
    keys = sorted(found.expected.keys() | found.observed.keys(), key=str)
    outcome = max(keys, key=lambda k: abs(found.observed.get(k, 0.0) - found.expected.get(k, 0.0)))
    laws = outcome, found.expected, found.observed
    if subject.kind in ("decoder", "drafter"):
        tables = _table(case, "target"), _table(case, "draft")
        return Counterexample(case.words, *tables, None, *laws, given(subject, case, None))
    one = max(inputs(subject, case), key=lambda drawn: drawn.weight)
    drafts = None if one.tree is None else np.asarray(one.tree.tokens).tolist()
    q = None if one.q is None else one.q.tolist()
    return Counterexample(case.words, one.p.tolist(), q, drafts, *laws, given(subject, case, one.tree))


def _table(case: Case, which: str) -> dict[str, list[str]]:
    model = case.target if which == "target" else case.draft
    return {str(text): [str(v) for v in row] for text, row in model.table.items() if len(text) < 2}
