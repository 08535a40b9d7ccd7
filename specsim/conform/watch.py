"""The law of what a subject emits in a case, by the strongest evidence that it allows; no case is run twice."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from specsim.conform.calls import Answer, Broken, Input, call, inputs, number_of_coins
from specsim.conform.cases import Case, Text
from specsim.conform.draws import sampler
from specsim.conform.evidence import coins, montecarlo, scripted
from specsim.conform.guard import OutOfTime, within
from specsim.conform.subject import Subject
from specsim.conform.verdict import Evidence
from specsim.types import Array

TESTS = 4  # of one observation: first token, joint law, kept drafts, impossible tokens
ROUNDING = {"float64": 1e-9, "float32": 1e-5, "float16": 0.01, "bfloat16": 0.05}  # of laws, not of rules
SHARE = 4  # one Monte Carlo observation takes at most this part of the time that is left
EXACT = 3  # and an exact one that part
FEW = 2  # rows of a batch that take no longer than a call
REPLAYS = 14  # of the first paths in the first case: other randomness than the script's may be one bit of a clock
_OURS = ("Uniforms", "Exponentials", "Race")


class Observation(NamedTuple):
    """Probabilities (or frequencies) of the answers of a subject in one case."""

    case: Case
    law: dict[Answer, float]
    evidence: Evidence
    runs: int
    delta: float = 0.0  # false-alarm rate of one test of it; 0: exact
    rounding: float = 0.0  # what floats may do to an exact law

    def joint(self, length: int) -> dict[Text, float]:
        """Law of the first `length` tokens, where the target goes on after what was emitted."""
        out: dict[Text, float] = {}
        for seen, mass in self.law.items():
            for text, chance in continued(self.case.p, seen.text[:length], length):
                out[text] = out.get(text, 0.0) + mass * chance
        return out

    def goal(self, length: int) -> dict[Text, float]:
        """The target's own."""
        return dict(continued(self.case.p, (), length))

    def mean(self, of: Callable[[Answer], float]) -> float:
        """Expectation of something in an answer."""
        return math.fsum(mass * of(seen) for seen, mass in self.law.items())


def continued(target: Callable[[Text], Any], text: Text, length: int) -> list[tuple[Text, float]]:
    """Every continuation of a text by the target to that length that is possible, with its probability."""
    out = [(text, 1.0)]
    for _ in range(length - len(text)):
        out = [((*t, y), m * v) for t, m in out for y, v in enumerate(target(t).tolist()) if v > 0]
    return out


class Watch:
    """Observes one subject until the deadline (of time.monotonic), at most `grace` seconds later."""

    def __init__(
        self, subject: Subject, *, deadline: float, patience: float, delta: float, seed: int, grace: float = 1.0
    ) -> None:
        self.subject, self.deadline, self.patience, self.delta, self.seed = subject, deadline, patience, delta, seed
        self.grace = grace
        self.seen: dict[Any, Observation] = {}
        self.kinds: list[Evidence] = ["scripted", "Monte Carlo"]
        if subject.randomness == "coins":
            self.kinds.insert(1, "coins")
        self.why: list[str] = []  # stronger evidence was not to be had
        self.most: dict[Evidence, int] = {}  # drafts for which it took too long
        self.sampled = self.runs = 0

    def left(self) -> float:
        """Seconds."""
        return self.deadline - time.monotonic()

    def __call__(self, case: Case, *, exact: bool = False) -> Observation:
        """The observation of a case; `exact` ones only, on demand. Raises Broken, OutOfTime."""
        key = id(case.target), id(case.draft), case.words
        if key not in self.seen:
            self.seen[key] = self._observed(case, exact)
        return self.seen[key]

    def batches(self, case: Case) -> Observation:
        """The frequencies of whole batches, whatever the evidence for single calls."""
        if self.left() <= 0:
            raise OutOfTime
        return self._sampled(case, inputs(self.subject, case))

    def _observed(self, case: Case, exact: bool) -> Observation:
        if self.left() <= 0:
            raise OutOfTime
        given = inputs(self.subject, case)
        self.once(
            case, given[0], np.random.default_rng(self.seed)
        )  # a subject that cannot be called is broken, not odd
        for kind in list(self.kinds):
            if len(case.parents) >= self.most.get(kind, math.inf):
                continue
            if exact and kind == "Monte Carlo":
                raise OutOfTime
            try:
                return self._sampled(case, given) if kind == "Monte Carlo" else self._exact(kind, case, given)
            except (scripted.NotScriptable, scripted.NotReproducible) as reason:
                self.kinds.remove(kind)
                self.why.append(f"not {kind}: {reason}")
            except scripted.TooLong as reason:
                self.most[kind] = len(case.parents)
                self.why = list(dict.fromkeys([*self.why, f"not {kind} for {case.words}: {reason}"]))
        raise OutOfTime

    def once(self, case: Case, given: Input, random: Any) -> Answer:
        """One call, guarded."""
        self.runs += 1
        with self.guarded():
            return call(self.subject, case, given, random)

    def guarded(self, rows: int = 1) -> AbstractContextManager[None]:
        """A call that hangs is broken; one that was begun too late, or has many rows, only ends the time."""
        patience, left = self.patience if rows <= FEW else math.inf, max(self.left(), 0) + self.grace
        return within(min(patience, left), OutOfTime() if left < patience else None)

    def _exact(self, kind: Evidence, case: Case, given: list[Input]) -> Observation:
        law: dict[Answer, float] = {}
        runs, until = 0, time.monotonic() + self.left() / EXACT
        for one in given:
            if kind == "coins":
                count = number_of_coins(self.subject, case, one.tree)
                found = coins.law(partial(self._fixed, case, one), count, deadline=until)
            else:
                again = 0 if self.seen else REPLAYS
                found = scripted.law(partial(self._scripted, case, one), deadline=until, replays=again)
                self.runs -= found.replays  # they add nothing to the law
            runs += found.leaves
            for seen, mass in found.law.items():
                law[seen] = law.get(seen, 0.0) + one.weight * mass
        return Observation(case, law, kind, runs, rounding=ROUNDING.get(self.subject.dtype, 1e-5))

    def _fixed(self, case: Case, given: Input, u: Array) -> Answer:
        return self.once(case, given, _Fixed(u))

    def _scripted(self, case: Case, given: Input, random: Any) -> Answer:
        try:
            return self.once(case, given, random)
        except Broken as broken:  # by what a stand-in is, or by itself?
            cause = broken.__cause__
            if isinstance(cause, TypeError | AttributeError) or any(name in str(broken) for name in _OURS):
                raise scripted.NotScriptable(str(broken)) from None
            raise

    def _sampled(self, case: Case, given: list[Input]) -> Observation:
        self.sampled += 1
        delta = montecarlo.share(self.delta, self.sampled) / TESTS
        until = time.monotonic() + max(self.left() / SHARE, 0.01)
        whole = case.length

        def enough(counts: montecarlo.Counts) -> bool:
            seen = Observation(case, {a: n / counts.runs for a, n in counts.counts.items()}, "Monte Carlo", counts.runs)
            used = time.monotonic() - begun
            if self.subject.kind == "drafter":
                return time.monotonic() + used > until
            goal = seen.goal(whole)
            limit = montecarlo.allowed(list(goal.values()), counts.runs, montecarlo.share(delta, counts.looks))
            return distance(seen.joint(whole), goal) > limit or time.monotonic() + used > until

        begun = time.monotonic()
        with sampler(self, case, given, self.seed + self.sampled) as draw:
            counts = montecarlo.sample(draw, enough)
        law = {answer: n / counts.runs for answer, n in counts.counts.items()}
        return Observation(case, law, "Monte Carlo", counts.runs, montecarlo.share(delta, counts.looks))


class _Fixed:
    """Stands where a generator does, and hands out the coins that it was given."""

    def __init__(self, u: Any) -> None:
        self.u = u

    def random(self, size: Any) -> Any:
        return np.array(self.u).reshape(size)


def distance(one: dict[Any, float], other: dict[Any, float]) -> float:
    """Total variation of two laws."""
    return 0.5 * math.fsum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in one.keys() | other.keys())
