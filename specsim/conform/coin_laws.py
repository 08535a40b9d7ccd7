"""The law of a subject whose uniforms are an argument: found again until what boxes may hide explains nothing."""

from __future__ import annotations

import math
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from specsim.conform.cases import Case
from specsim.conform.evidence import coins, hidden
from specsim.conform.evidence.scripted import NotReproducible
from specsim.conform.observation import Observation, add, distance
from specsim.conform.subject_call import Answer, Input, number_of_coins
from specsim.types import Array

if TYPE_CHECKING:
    from specsim.conform.watch import Watch

HIDDEN = 0.01  # of the coins of a drafter


def observed(watch: Watch, case: Case, given: list[Input], until: float, agreed: int = 0) -> Observation:
    """A law that is not the target's is found again, until as many random points agree as its distance asks for.

    Were the distance only what boxes hide, that many would agree with probability `delta` at most.
    """
    law: dict[Answer, float] = {}
    runs, floats = 0, np.float64 if watch.subject.dtype == "float64" else np.float32
    marks = hidden.marks(watch.own)
    for one in given:
        count, program = number_of_coins(watch.subject, case, one.tree), partial(fixed, watch, case, one)
        found = coins.law(program, count, deadline=until, floats=floats, agreed=agreed)
        runs += found.leaves
        add(law, found.law, one.weight)
    if marks != hidden.marks(watch.own):
        raise NotReproducible(hidden.DRAWN)
    seen = Observation(case, law, "coins", runs, rounding=watch.rounding, given=tuple(given))
    drafter = watch.subject.kind == "drafter"  # whose goal are the laws that it hands back
    wrong = HIDDEN if drafter else distance(seen.joint(case.length), seen.goal(case.length))
    asked = math.ceil(-math.log(watch.delta) / wrong) if wrong > seen.rounding else 0
    return seen if asked <= agreed else observed(watch, case, given, until, asked)


def fixed(watch: Watch, case: Case, given: Input, u: Array) -> Answer:
    """The answer of the subject to coins that are given."""
    return watch.once(case, given, _Fixed(u))


class _Fixed:
    """Stands where a generator does, and hands out the coins that it was given."""

    def __init__(self, u: Any) -> None:
        self.u = u

    def random(self, size: Any) -> Any:
        return np.array(self.u).reshape(size)
