"""How far shorter floats move the law: a distance for every type that the subject takes, and no verdict on the rule.

The law on inputs of a type is compared with the law that the same code has on float64 inputs: a wrong rule is as wrong
in both, and a right one is here only as wrong as its floats.
"""

from __future__ import annotations

from specsim.conform.calls import Broken
from specsim.conform.cases import Case, standard
from specsim.conform.guard import OutOfTime
from specsim.conform.subject import Subject
from specsim.conform.verdict import Evidence, Verdict
from specsim.conform.watch import Watch, distance

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "it names no other types of laws that it takes (dtypes)"
REFERENCE = "float64"


def verdict(subject: Subject, watch: Watch) -> Verdict | None:
    """Of the types that are named; exact evidence only, as chance would hide what rounding does."""
    if not subject.dtypes:
        return None
    case, evidence, said, worst, runs = next(standard(subject)), set[Evidence](), list[str](), 0.0, 0
    exact, runs, reason = law(subject._replace(dtype=REFERENCE), watch, case, evidence)
    for dtype in subject.dtypes if exact is not None else ():
        found, more, why = law(subject._replace(dtype=dtype), watch, case, evidence)
        runs += more
        if found is None or exact is None:
            said.append(f"{dtype} {why}")
            continue
        far = distance(found, exact)
        worst = max(worst, far)
        said.append(f"{dtype} {far:.2g}")
    if not evidence or exact is None:
        words = f"{REFERENCE} {reason}" if exact is None else "; ".join(said)
        return Verdict(subject.name, "numerics", "not available", runs=runs, words=words)
    words = f"total variation from its law in {REFERENCE}: {'; '.join(said)}"
    (kind,) = sorted(evidence)[-1:]
    return Verdict(subject.name, "numerics", "measured", kind, case.words, runs, worst, None, words)


def law(
    subject: Subject, watch: Watch, case: Case, evidence: set[Evidence]
) -> tuple[dict[tuple[int, ...], float] | None, int, str]:
    """(joint law, runs, why there is none) on inputs of the subject's type."""
    own = Watch(subject, deadline=watch.deadline, patience=watch.patience, delta=watch.delta, seed=watch.seed)
    try:
        seen = own(case, exact=True)
    except Broken as reason:
        return None, own.runs, f"is broken: {reason}"
    except OutOfTime:
        return None, own.runs, "; ".join(["has no exact law", *own.why])
    evidence.add(seen.evidence)
    return seen.joint(case.length), own.runs, ""
