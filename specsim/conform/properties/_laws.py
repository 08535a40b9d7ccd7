"""A property that compares laws, case by case: the first case that differs convicts, and is shrunk."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, NamedTuple

from specsim.base import clock
from specsim.conform.argument_words import input_shown
from specsim.conform.cases import Case
from specsim.conform.doubts import AGAIN, doubt
from specsim.conform.evidence import montecarlo
from specsim.conform.fitting import through
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
# observe(case, *, exact) returns the observation of a case.
Observe = Callable[..., Observation]


class Look(NamedTuple):
    """One observation under one property: it convicts if the distance is above what is allowed."""

    # Total variation, or another error, of the observed law.
    distance: float
    allowed: float
    detectable: float  # smallest distance that would have been seen
    expected: dict[Any, float]
    observed: dict[Any, float]
    evidence: Evidence = "none"
    # The distance lies in [0, width]; 0: every single answer shows by itself what is wrong.
    width: float = 1.0


def of_laws(observation: Observation, observed: dict[Any, float], expected: dict[Any, float]) -> Look:
    """Return the total variation of two laws, and what rounding or chance allow."""
    tv, law = distance(observed, expected), list(expected.values())
    if observation.evidence != "Monte Carlo":
        return Look(tv, observation.rounding, observation.rounding, expected, observed, observation.evidence)
    limit = montecarlo.allowed(law, observation.runs, observation.delta)
    return Look(
        tv,
        limit,
        montecarlo.detectable(law, observation.runs, observation.delta),
        expected,
        observed,
        observation.evidence,
    )


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

    Where the cases are looked at again, `begun` is the number of the subject's runs before the
    first time.
    """
    caller, findings = trial.caller, trial.findings
    observe, cases = observe or partial(observe_once, trial), list(cases)
    looks: list[tuple[Case, Look]] = []
    runs = caller.runs if begun is None else begun
    reach, doubted, hidden = list[str](), None, findings.is_hidden

    # Look at one case after the other, until one convicts.
    for case in through(trial, cases):
        try:
            observation = observe(case)
        except OutOfTime as reason:
            if not looks or findings.dependent.get(key_of(case), False):
                raise
            reach.append(f"and no further: {str(reason) or 'the budget ran out'}")
            break
        result = look(observation)
        looks.append((case, result))
        reach.append(case.words.partition(": ")[0])
        if result.distance > result.allowed:
            why = doubt(trial, observation, result.distance / result.width, observe) if result.width else ""
            if why == AGAIN:
                return each(name, subject, trial, cases, look, observe, runs)
            if why:
                # Another case may still convict.
                doubted = doubted or _undecided(name, subject, result, case, caller.runs - runs, why)
                continue
            return _convicted(name, subject, trial, case, result, look, caller.runs - runs, observe)

    # Hidden randomness was discovered on the way: earlier cases were wrongly taken for exact, so
    # start again.
    if findings.is_hidden and not hidden:
        return each(name, subject, trial, cases, look, observe, runs)
    if doubted is not None:
        return doubted

    if not looks:
        raise OutOfTime("; ".join(findings.untaken.values()) or "none of its cases has an exact law")

    # No case convicts: report how far the evidence reaches.
    worst = max((result.distance for _, result in looks if result.evidence != "Monte Carlo"), default=0.0)
    kind = min((result.evidence for _, result in looks), key=WEAKEST.index)
    widest = max(result.detectable for _, result in looks)
    reasons = "; ".join(findings.why)
    where = "; ".join(dict.fromkeys([*reach, *findings.untaken.values()]))
    if kind == "Monte Carlo":
        where += f"; total variations from {widest:.2g} would be seen"
        if widest > montecarlo.UNDECIDED:
            reasons = f"too few runs to see a total variation below {widest:.2g}: give it {LARGER}"
            reasons = "; ".join([reasons, *findings.why])
            return Verdict(subject.name, name, "inconclusive", kind, where, caller.runs - runs, worst, None, reasons)
    return Verdict(subject.name, name, "lossless", kind, where, caller.runs - runs, worst, None, reasons)


def _undecided(name: str, subject: Subject, result: Look, case: Case, runs: int, why: str) -> Verdict:
    """Return the verdict on a distance that convicts nobody."""
    return Verdict(subject.name, name, "inconclusive", result.evidence, case.words, runs, result.distance, None, why)


def _convicted(
    name: str,
    subject: Subject,
    trial: Trial,
    case: Case,
    result: Look,
    look: Callable[[Observation], Look],
    runs: int,
    observe: Observe,
) -> Verdict:
    """Return the conviction, with a counterexample that is made as small as the time allows."""
    smaller, shown = case, result
    if result.evidence != "Monte Carlo" and trial.shrinks:
        smaller, shown = _shrunk(subject, trial, case, look, observe) or (case, result)
    verdict = against(name, subject, smaller, shown, runs)
    return verdict._replace(evidence=result.evidence, reach=case.words, distance=result.distance)


def against(name: str, subject: Subject, case: Case, result: Look, runs: int) -> Verdict:
    """Return the verdict that follows from one case."""
    counterexample = _counterexample(subject, case, result)
    outcome: Outcome = "convicted" if subject.lossless else "lossy by design"
    words = f"{counterexample.outcome} has probability {counterexample.observed.get(counterexample.outcome, 0):.4g}"
    words += f", not {counterexample.expected.get(counterexample.outcome, 0):.4g} ({counterexample.case})"
    return Verdict(
        subject.name, name, outcome, result.evidence, case.words, runs, result.distance, counterexample, words
    )


def _shrunk(
    subject: Subject, trial: Trial, case: Case, look: Callable[[Observation], Look], observe: Observe
) -> tuple[Case, Look] | None:
    """Return the first of the simple cases that convicts, too; None if none does in time."""
    until = clock.now() + min(SHRINKING, trial.budget.left() / 3)
    for smaller in simple(subject, case):
        if clock.now() > until:
            break
        try:
            result = look(observe(smaller, exact=True))
        except OutOfTime:
            break
        except Exception:
            # A broken answer is a verdict of its own, not a smaller form of this one.
            continue
        if result.distance > max(result.allowed, VISIBLE):
            return smaller, result
    return None


def _counterexample(subject: Subject, case: Case, result: Look) -> Counterexample:
    """Return the counterexample of a case: the outcome whose probability is the furthest off, and its input."""
    keys = sorted(result.expected.keys() | result.observed.keys(), key=str)
    outcome = max(keys, key=lambda key: abs(result.observed.get(key, 0.0) - result.expected.get(key, 0.0)))
    likeliest = max(inputs(subject, case), key=lambda drawn: drawn.weight)
    shown = input_shown(subject, case, likeliest)
    return shown._replace(outcome=outcome, expected=result.expected, observed=result.observed)
