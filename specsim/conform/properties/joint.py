"""A block continued by the target has the target's joint law: a right first token is not enough."""

from __future__ import annotations

from specsim.conform.observation import Observation
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.standard_cases import standard as cases
from specsim.conform.subject import Subject
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("chain", "tree", "decoder")


def look(observation: Observation) -> Look:
    """Compare the law of one token more than can be drafted."""
    whole = observation.case.length
    return of_laws(observation, observation.joint(whole), observation.goal(whole))


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict over all drafts that q can give."""
    return each("joint", subject, trial, cases(subject), look)
