"""How far shorter floats move the law: a distance for every type that the subject takes, and no verdict on the rule.

The law on inputs of a type is compared with the law that the same code has on float64 inputs: a wrong rule is as wrong
in both, and a right one is here only as wrong as its floats.
"""

from __future__ import annotations

from collections.abc import Iterable

from specsim.conform.calls import Broken
from specsim.conform.cases import Case, standard
from specsim.conform.guard import OutOfTime
from specsim.conform.subject import Subject
from specsim.conform.verdict import Verdict
from specsim.conform.watch import Observation, Watch, distance

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it names no other types of laws that it takes (dtypes)"
REFERENCE = "float64"


def cases(subject: Subject) -> Iterable[Case]:
    """The first."""
    return [next(standard(subject))] if subject.dtypes else []


def verdict(subject: Subject, watch: Watch) -> Verdict | None:
    """Of the types that are named; exact evidence only, as chance would hide what rounding does."""
    if not subject.dtypes:
        return None
    (case,), said, distances = cases(subject), list[str](), list[float]()
    exact, runs, reason = law(subject._replace(dtype=REFERENCE), watch, case)
    if exact is None:
        return Verdict(subject.name, "numerics", "not available", runs=runs, words=f"{REFERENCE} {reason}")
    for dtype in subject.dtypes:
        found, more, reason = law(subject._replace(dtype=dtype), watch, case)
        runs += more
        if found is not None:
            distances.append(distance(found.joint(case.length), exact.joint(case.length)))
        said.append(f"{dtype} {distances[-1]:.2g}" if found is not None else f"{dtype} {reason}")
    if not distances:
        return Verdict(subject.name, "numerics", "not available", runs=runs, words="; ".join(said))
    words = f"total variation from its law in {REFERENCE}: {'; '.join(said)}"
    return Verdict(subject.name, "numerics", "measured", exact.evidence, case.words, runs, max(distances), None, words)


def law(subject: Subject, watch: Watch, case: Case) -> tuple[Observation | None, int, str]:
    """(what is seen, runs, why nothing is) on inputs of the subject's type."""
    own = Watch(subject, deadline=watch.deadline, patience=watch.patience, delta=watch.delta, seed=watch.seed)
    try:
        return own(case, exact=True), own.runs, ""
    except Broken as reason:
        return None, own.runs, f"is broken: {reason}"
    except OutOfTime:
        return None, own.runs, "; ".join(["has no exact law", *own.why])
