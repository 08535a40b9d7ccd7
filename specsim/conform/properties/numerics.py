"""How far shorter floats move the law: a distance for every type that the subject takes, and no verdict on the rule.

The law on inputs of a type is compared with the law that the same code has on float64 inputs: a
wrong rule is as wrong in both, and a right one is here only as wrong as its floats. What no
rounding of the type can have done convicts: a floor, or a branch, that the code has for this type
alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from specsim.conform.cases import Case
from specsim.conform.fitting import through
from specsim.conform.observation import ROUNDING, Observation, distance
from specsim.conform.observing import observe
from specsim.conform.properties import degenerate
from specsim.conform.properties._laws import Look, against
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Broken
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial, begin
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it names no other types of laws that it takes (dtypes)"
REFERENCE = "float64"
# Cases of `degenerate` in which a floor of q, or of p, moves the law.
EDGES = ("a certain draft", "zeros in p", "rare tokens")


class Law(NamedTuple):
    """The observations of a subject on inputs of one type."""

    # One for each case; none at all if any case has no exact law.
    seen: list[Observation]
    runs: int
    # Why nothing is seen.
    reason: str


def cases(subject: Subject) -> list[Case]:
    """Return the first case, and laws at the edges, where a floor shows."""
    if not subject.dtypes:
        return []
    first = next(standard(subject))
    edges = (case for case in degenerate.cases(subject) if case.parents == first.parents)
    return [first, *(case for case in edges if case.words.partition(": ")[2] in EDGES)]


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict on the types that are named; exact evidence only, as chance would hide what rounding does."""
    if not subject.dtypes:
        return None
    # The law in the reference type; with JAX its own setting decides which types there are.
    chosen = list(through(trial, cases(subject)))
    reference = subject.dtype if subject.arrays == "jax" else REFERENCE
    exact = law(subject._replace(dtype=reference), trial, chosen)
    runs, reports, distances = exact.runs, list[str](), list[float]()
    if not exact.seen:
        return Verdict(subject.name, "numerics", "not available", runs=runs, words=f"{reference} {exact.reason}")

    # Compare each type with it, case by case.
    for dtype in subject.dtypes:
        measured = law(subject._replace(dtype=dtype), trial, chosen)
        runs += measured.runs
        pairs = zip(measured.seen, exact.seen, strict=False)
        looks = [look(seen, reference_seen, dtype) for seen, reference_seen in pairs]
        for case, result in zip(chosen, looks, strict=False):
            if result.distance > result.allowed:
                short = subject._replace(dtype=dtype)
                return against("numerics", short, case._replace(words=f"{case.words}, {dtype}"), result, runs)
        if looks:
            distances.append(max(result.distance for result in looks))
        reports.append(f"{dtype} {distances[-1]:.2g}" if looks else f"{dtype} {measured.reason}")

    # Report the largest distance of every type.
    if not distances:
        return Verdict(subject.name, "numerics", "not available", runs=runs, words="; ".join(reports))
    words = f"total variation from its law in {reference}: {'; '.join(reports)}"
    reach = "; ".join(dict.fromkeys(case.words.partition(": ")[0] for case in chosen))
    return Verdict(
        subject.name, "numerics", "measured", exact.seen[0].evidence, reach, runs, max(distances), None, words
    )


def look(observation: Observation, exact: Observation, dtype: str) -> Look:
    """Compare the joint law on a type with that on float64; rounding of the type is allowed."""
    observed, expected = observation.joint(observation.case.length), exact.joint(exact.case.length)
    allowed = ROUNDING.get(dtype, max(ROUNDING.values()))
    return Look(distance(observed, expected), allowed, allowed, expected, observed, observation.evidence)


def law(subject: Subject, trial: Trial, cases: Iterable[Case]) -> Law:
    """Return what is seen on inputs of the subject's type."""
    budget, delta, seed = trial.budget, trial.findings.delta, trial.caller.seed
    own_trial = begin(subject, deadline=budget.deadline, patience=budget.patience, delta=delta, seed=seed)
    try:
        return Law([observe(own_trial, case, exact=True) for case in cases], own_trial.caller.runs, "")
    except Broken as reason:
        return Law([], own_trial.caller.runs, f"is broken: {reason}")
    except OutOfTime:
        return Law([], own_trial.caller.runs, "; ".join(["has no exact law", *own_trial.findings.why]))
