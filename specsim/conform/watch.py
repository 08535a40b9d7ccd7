"""The law of what a subject emits in a case, by the strongest evidence that it allows; no case is run twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from specsim.conform import clock
from specsim.conform.calls import Answer, Broken, Input, call, inputs, number_of_coins
from specsim.conform.cases import Case, Text
from specsim.conform.draws import neighboured, repeated, sampler
from specsim.conform.evidence import coins, montecarlo, scripted
from specsim.conform.guard import OutOfTime, within
from specsim.conform.subject import Subject
from specsim.conform.verdict import Evidence
from specsim.types import Array

TESTS = 4  # of one observation: first token, joint law, kept drafts, impossible tokens
ROUNDING = {"float64": 1e-9, "float32": 1e-5, "float16": 0.01, "bfloat16": 0.05}  # of laws, not of rules
HIDDEN = 0.01  # of the coins of a drafter
SHARE = 4  # a Monte Carlo observation that decides nothing yet takes at most this part of the time that is left
EXACT = 3  # and an exact one that part,
MANY = 3000  # paths of a case at most where rows of batches say enough: coins that are drawn up front have more
SLACK = 3  # or so many times what each of those to come would have
FEW = 2  # rows of a batch that take no longer than a call
REPLAYS = 14  # of the first paths in the first case: other randomness than the script's may be one bit of a clock
_OURS = ("Uniforms", "Exponentials", "Race")
Program = Callable[[Callable[..., Answer], Any], Answer]  # (call(case, input, random[, run]), random) -> the whole
Draws = AbstractContextManager[Callable[[int], list[Answer]]]


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
            for text, chance in continued(self.case.p, seen.text[:length], length, self.case.end):
                out[text] = out.get(text, 0.0) + mass * chance
        return out

    def goal(self, length: int) -> dict[Text, float]:
        """The target's own."""
        return dict(continued(self.case.p, (), length, self.case.end))

    def mean(self, of: Callable[[Answer], float]) -> float:
        """Expectation of something in an answer."""
        return math.fsum(mass * of(seen) for seen, mass in self.law.items())


def continued(
    target: Callable[[Text], Any], text: Text, length: int, end: int | None = None
) -> list[tuple[Text, float]]:
    """Every continuation of a text by the target to that length, or to the token `end`, with its probability."""
    live, stopped = [(text, 1.0)], []
    for _ in range(length - len(text)):
        stopped += [(t, m) for t, m in live if t[-1:] == (end,)]
        live = [
            ((*t, y), m * v) for t, m in live if t[-1:] != (end,) for y, v in enumerate(target(t).tolist()) if v > 0
        ]
    return stopped + live


class Watch:
    """Observes one subject until the deadline (of clock.now), at most `grace` seconds later."""

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
        self.most: dict[Evidence, int] = {}  # tokens times drafts for which it took too long
        self.sampled = self.runs = 0
        self.ahead: list[Case] = []  # cases of the properties that follow
        self.open = SHARE  # observations among which what is left of the time is shared
        self.telling = True  # the property that is judged may take more than its share
        self.until = deadline  # the observation that is made must end by then
        self.shrinks = True  # a counterexample is made small
        self.pace = 0.0  # seconds of a single run, once it was too slow for a first look
        self.called = False  # a call of the subject has come back

    def left(self) -> float:
        """Seconds."""
        return self.deadline - clock.now()

    def __call__(self, case: Case, *, exact: bool = False) -> Observation:
        """The observation of a case; `exact` ones only, on demand. Raises Broken, OutOfTime."""
        key = _key(case)
        if key not in self.seen:
            self.seen[key] = self._observed(case, exact)
        return self.seen[key]

    def through(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases of a property, one after the other: those not seen yet share the time with those `ahead`."""
        own = list(cases)
        for i, case in enumerate(own):
            self.open = max(len({_key(one) for one in (*own[i:], *self.ahead)} - self.seen.keys()), 1)
            yield case

    def batches(self, case: Case, *, exact: bool = False, wanted: float | None = None) -> Observation:
        """The frequencies of whole batches, whatever the evidence for single calls."""
        if self.left() <= 0 or exact:
            raise OutOfTime
        return self._sampled(case, partial(neighboured, self, case), wanted)

    def follow(self, case: Case, program: Program, *, exact: bool = False) -> Observation:
        """The law of what a program makes of several calls; `exact`, or by frequencies where it cannot be had."""
        if self.left() <= 0:
            raise OutOfTime
        program(self.once, np.random.default_rng(self.seed))  # one that cannot be called is broken
        if "scripted" in self.kinds:
            try:
                found = scripted.law(partial(program, self._scripted), deadline=self._late())
                rounding = case.length * ROUNDING.get(self.subject.dtype, 1e-5)
                return Observation(case, found.law, "scripted", found.leaves, rounding=rounding)
            except (scripted.NotScriptable, scripted.NotReproducible, scripted.TooLong) as reason:
                self.why = list(dict.fromkeys([*self.why, f"not scripted for {case.words}: {reason}"]))
        if exact:
            raise OutOfTime
        return self._sampled(case, partial(repeated, self, partial(program, self.once)))

    def _observed(self, case: Case, exact: bool) -> Observation:
        if self.left() <= 0:
            raise OutOfTime
        given = inputs(self.subject, case)
        self.once(
            case, given[0], np.random.default_rng(self.seed)
        )  # a subject that cannot be called is broken, not odd
        for kind in list(self.kinds):
            if case.length * len(case.parents) >= self.most.get(kind, math.inf):
                continue
            if exact and kind == "Monte Carlo":
                raise OutOfTime
            try:
                if kind == "Monte Carlo":
                    return self._sampled(case, partial(sampler, self, case, given))
                return self._exact(kind, case, given)
            except (scripted.NotScriptable, scripted.NotReproducible) as reason:
                self.kinds.remove(kind)
                self.why.append(f"not {kind}: {reason}")
            except scripted.TooLong as reason:
                if self.telling:  # with less time it says nothing of cases that have fewer paths
                    self.most[kind] = case.length * len(case.parents)
                self.why = list(dict.fromkeys([*self.why, f"not {kind} for {case.words}: {reason}"]))
        raise OutOfTime

    def once(self, case: Case, given: Input, random: Any, run: Callable[..., Any] | None = None) -> Answer:
        """One call, guarded; of the `run` of a text that was begun before, if there is one."""
        self.runs += 1
        subject = self.subject if run is None else self.subject._replace(run=run, stateful=False)
        with self.guarded():
            answer = call(subject, case, given, random)
        self.called = True
        return answer

    def begun(self) -> Callable[..., Any]:
        """The `run` of a new text."""
        with self.guarded():
            run: Callable[..., Any] = self.subject.run() if self.subject.stateful else self.subject.run
            return run

    def guarded(self, rows: int = 1) -> AbstractContextManager[None]:
        """A call that hangs is broken; one that was begun too late, or has many rows, only ends the time.

        The first may use all of the time: it may import or compile the half of a library.
        """
        patience = self.patience if rows <= FEW else math.inf
        return within(patience, max(self.left(), 0) + self.grace, early=self.called)

    def _exact(self, kind: Evidence, case: Case, given: list[Input]) -> Observation:
        if kind == "coins":
            return self._by_coins(case, given, self._late(), 0)
        law: dict[Answer, float] = {}
        runs, until = 0, self._late()
        quicker = self.subject.batch is not None and self.subject.randomness != "coins"
        most = min(2 * MANY // len(given), MANY // 2) if quicker else scripted.MOST
        for done, one in enumerate(given):
            if quicker and runs * len(given) > MANY * done:
                raise scripted.TooLong(f"more than {MANY} paths, where rows of batches are quicker")
            again = 0 if self.seen else REPLAYS
            found = scripted.law(partial(self._scripted, case, one), most=most, deadline=until, replays=again)
            self.runs -= found.replays  # they add nothing to the law
            runs += found.leaves
            _add(law, found.law, one.weight)
        return Observation(case, law, kind, runs, rounding=ROUNDING.get(self.subject.dtype, 1e-5))

    def _by_coins(self, case: Case, given: list[Input], until: float, agreed: int) -> Observation:
        """A law that is not the target's is found again, until as many random points agree as its distance asks for.

        Were the distance only what boxes hide, that many would agree with probability `delta` at most.
        """
        law: dict[Answer, float] = {}
        runs, floats = 0, np.float64 if self.subject.dtype == "float64" else np.float32
        for one in given:
            count, program = number_of_coins(self.subject, case, one.tree), partial(self._fixed, case, one)
            found = coins.law(program, count, deadline=until, floats=floats, agreed=agreed)
            runs += found.leaves
            _add(law, found.law, one.weight)
        seen = Observation(case, law, "coins", runs, rounding=ROUNDING.get(self.subject.dtype, 1e-5))
        drafter = self.subject.kind == "drafter"  # whose goal are the laws that it hands back
        wrong = HIDDEN if drafter else distance(seen.joint(case.length), seen.goal(case.length))
        asked = math.ceil(-math.log(self.delta) / wrong) if wrong > seen.rounding else 0
        return seen if asked <= agreed else self._by_coins(case, given, until, asked)

    def _fixed(self, case: Case, given: Input, u: Array) -> Answer:
        return self.once(case, given, _Fixed(u))

    def _scripted(self, case: Case, given: Input, random: Any, run: Callable[..., Any] | None = None) -> Answer:
        try:
            return self.once(case, given, random, run)
        except Broken as broken:  # by what a stand-in is, or by itself?
            cause = broken.__cause__
            if isinstance(cause, TypeError | AttributeError) or any(name in str(broken) for name in _OURS):
                raise scripted.NotScriptable(str(broken)) from None
            raise

    def _late(self) -> float:
        """When an exact observation has taken too long."""
        return clock.now() + self.left() / (EXACT if self.telling else max(EXACT, self.open / SLACK))

    def _sampled(self, case: Case, draws: Callable[[int], Draws], wanted: float | None = None) -> Observation:
        """Frequencies until they are as precise as is wanted; earlier if they convict, or if others need the time."""
        self.sampled += 1
        delta = montecarlo.share(self.delta, self.sampled) / TESTS
        begun, left = clock.now(), max(self.left(), SHARE * 0.01)
        self.until, fair = begun + left / min(SHARE, self.open), begun + left / max(SHARE, self.open)
        drafter, size = self.subject.kind == "drafter", len(case.parents)
        width = size if self.subject.kind in ("chain", "tree") or self.subject.block else 0  # drafts that are counted
        goal = {} if drafter else dict(continued(case.p, (), case.length, case.end))
        kinds = case.draft.vocab**size + 1  # of a drafter, whose rows are not known yet: as hard as any law of so many
        law = [1 / kinds] * kinds if drafter else list(goal.values())

        def precision(runs: int, rate: float) -> float:
            return max(montecarlo.found(law, runs, rate), montecarlo.mean_allowed(width, runs, rate))

        most = montecarlo.needed(precision, delta, wanted or montecarlo.WANTED)
        least = montecarlo.needed(precision, delta, montecarlo.UNDECIDED)  # with fewer nothing is decided

        def enough(counts: montecarlo.Counts) -> bool:
            runs, rate = counts.runs, montecarlo.share(delta, counts.looks)
            seen = Observation(case, {a: n / runs for a, n in counts.counts.items()}, "Monte Carlo", runs)
            if not drafter and distance(seen.joint(case.length), goal) > montecarlo.allowed(law, runs, rate):
                return True
            now = clock.now()
            decided = precision(runs, rate) <= montecarlo.UNDECIDED
            following = min(2 * runs, most) if decided else max(least, min(2 * runs, most))
            return now + (now - begun) * (following - runs) / runs > (fair if decided else self.until)

        try:
            with draws(self.seed + self.sampled) as draw:
                counts = montecarlo.sample(draw, enough, most=most)
        except OutOfTime:
            self.why = list(dict.fromkeys([*self.why, f"no time for {montecarlo.FIRST} runs with random numbers"]))
            raise
        frequencies = {answer: n / counts.runs for answer, n in counts.counts.items()}
        rate = montecarlo.share(delta, counts.looks)
        return Observation(case, frequencies, "Monte Carlo", counts.runs, rate)


def _key(case: Case) -> Any:
    return id(case.target), id(case.draft), case[2:]


def _add(law: dict[Answer, float], found: dict[Answer, float], weight: float) -> None:
    for seen, mass in found.items():
        law[seen] = law.get(seen, 0.0) + weight * mass


class _Fixed:
    """Stands where a generator does, and hands out the coins that it was given."""

    def __init__(self, u: Any) -> None:
        self.u = u

    def random(self, size: Any) -> Any:
        return np.array(self.u).reshape(size)


def distance(one: dict[Any, float], other: dict[Any, float]) -> float:
    """Total variation of two laws."""
    return 0.5 * math.fsum(abs(one.get(key, 0.0) - other.get(key, 0.0)) for key in one.keys() | other.keys())
