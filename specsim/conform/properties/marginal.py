"""The first token of a block has the target's law."""

from __future__ import annotations

from specsim.conform.observation import Observation
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.standard_cases import standard as cases
from specsim.conform.subject import Subject
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")


def look(observation: Observation) -> Look:
    """Compare the law of the first token."""
    return of_laws(observation, observation.joint(1), observation.goal(1))


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict over all drafts that q can give."""
    return each("marginal", subject, trial, cases(subject), look)
