"""The law of a subject whose uniforms are an argument.

`coins` divides the cube of uniforms into boxes, and takes a box for uniform where its random points
agree. If the law is wrong, it is estimated again with more points per box, until an error hidden in
boxes cannot explain the distance.
"""

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


def observed(trial: Trial, case: Case, choices: list[Input], until: float, agreed: int = 0) -> Observation:
    """Return the law of a case by its coins.

    If the law differs from the target's, re-estimate it with more random points per box, until an
    error hidden inside boxes would explain the difference with probability at most `delta`.
    """
    # Mix the laws of all drafts; coins of float32 subjects are float32.
    law: dict[Answer, float] = {}
    runs, floats = 0, np.float64 if trial.subject.dtype == "float64" else np.float32
    marks = own_generators.marks(trial.caller.generators)
    for choice in choices:
        count, program = number_of_coins(trial.subject, case, choice.tree), partial(fixed, trial, case, choice)
        box_law = coins.law(program, count, deadline=until, floats=floats, agreed=agreed)
        runs += box_law.leaves
        add(law, box_law.law, choice.weight)
    if marks != own_generators.marks(trial.caller.generators):
        raise NotReproducible(own_generators.DRAWN)
    observation = Observation(case, law, "coins", runs, rounding=trial.findings.rounding, drafted=tuple(choices))

    # (1 - distance)^asked <= delta: so many points per box must agree. A drafter returns its goal
    # itself.
    is_drafter = trial.subject.kind == "drafter"
    wrong = HIDDEN if is_drafter else distance(observation.joint(case.length), observation.goal(case.length))
    asked = math.ceil(-math.log(trial.findings.delta) / wrong) if wrong > observation.rounding else 0
    return observation if asked <= agreed else observed(trial, case, choices, until, asked)


def fixed(trial: Trial, case: Case, choice: Input, u: Array) -> Answer:
    """Return the answer of the subject to the uniforms `u`."""
    return trial.caller.once(case, choice, _Fixed(u))


class _Fixed:
    """A stand-in for a generator that returns fixed uniforms."""

    def __init__(self, u: Any) -> None:
        self.u = u

    def random(self, size: Any) -> Any:
        """Return the uniforms."""
        return np.array(self.u).reshape(size)
