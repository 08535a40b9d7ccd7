"""The law of a subject whose uniforms are an argument: found again until what boxes may hide explains nothing."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from specsim.conform.cases import Case
from specsim.conform.evidence import coins
from specsim.conform.observation import Observation, add, distance
from specsim.conform.subject_call import Answer, Input, number_of_coins
from specsim.conform.trial import Trial
from specsim.forking.programs import own_generators
from specsim.forking.programs.scripted import NotReproducible
from specsim.types import Array

# Distance that the boxes of a drafter's coins may hide.
HIDDEN = 0.01


def observed(trial: Trial, case: Case, given: list[Input], until: float, agreed: int = 0) -> Observation:
    """Return the law of a case by its coins.

    A law that differs from the target's is found again with more random points per box. If the difference were only
    what boxes hide, all of these points would agree with probability `delta` at most.
    """
    law: dict[Answer, float] = {}
    runs, floats = 0, np.float64 if trial.subject.dtype == "float64" else np.float32
    marks = own_generators.marks(trial.caller.generators)
    for one in given:
        count, program = number_of_coins(trial.subject, case, one.tree), partial(fixed, trial, case, one)
        found = coins.law(program, count, deadline=until, floats=floats, agreed=agreed)
        runs += found.leaves
        add(law, found.law, one.weight)
    if marks != own_generators.marks(trial.caller.generators):
        raise NotReproducible(own_generators.DRAWN)
    seen = Observation(case, law, "coins", runs, rounding=trial.findings.rounding, given=tuple(given))
    drafter = trial.subject.kind == "drafter"  # whose goal are the laws that it hands back
    wrong = HIDDEN if drafter else distance(seen.joint(case.length), seen.goal(case.length))
    asked = math.ceil(-math.log(trial.findings.delta) / wrong) if wrong > seen.rounding else 0
    return seen if asked <= agreed else observed(trial, case, given, until, asked)


def fixed(trial: Trial, case: Case, given: Input, u: Array) -> Answer:
    """Return the answer of the subject to coins that are given."""
    return trial.caller.once(case, given, _Fixed(u))


class _Fixed:
    """Stands where a generator does, and hands out the coins that it was given."""

    def __init__(self, u: Any) -> None:
        self.u = u

    def random(self, size: Any) -> Any:
        return np.array(self.u).reshape(size)
