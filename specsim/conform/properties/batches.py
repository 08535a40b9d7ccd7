"""The rows of a batch have the law that single calls have: none is mixed with another or shares its coins."""

from __future__ import annotations

from specsim.conform.cases import standard
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.subject import Subject
from specsim.conform.verdict import Verdict
from specsim.conform.watch import Observation, Watch

KINDS = ("step", "chain", "tree")


def look(seen: Observation) -> Look:
    """The joint law: rows that share random numbers are further from it than independent ones can be."""
    whole = seen.case.length
    return of_laws(seen, seen.joint(whole), seen.goal(whole))


def verdict(subject: Subject, watch: Watch) -> Verdict | None:
    """Of subjects that have a `batch`."""
    if subject.batch is None:
        return None
    return each("batches", subject, watch, standard(subject), look, watch.batches)
