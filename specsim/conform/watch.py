"""The law of what a subject emits in a case, by the strongest evidence that it allows; no case is run twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

import numpy as np

from specsim.conform import clock, coin_laws, fitting
from specsim.conform.cases import Case
from specsim.conform.draws import followed, is_batched, neighboured, repeated, sampler
from specsim.conform.evidence import hidden, montecarlo, scripted
from specsim.conform.observation import ROUNDING, Observation, add, continued, distance, is_as_large, key_of, size_of
from specsim.conform.rows import Rows
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Answer, Broken, Input, call, inputs
from specsim.conform.timeout import OutOfTime, within
from specsim.conform.verdict import Evidence

TESTS = 4  # of one observation: first token, joint law, kept drafts, impossible tokens
# Parts of the time left that a Monte Carlo observation which decides nothing yet, and an exact one, take at most.
SHARE, EXACT = 4, 3
MANY = 3000  # paths of a case at most where rows of batches say enough: coins that are drawn up front have more
BRIEF = 10  # part of the time left that the law of a case takes at most which is only looked at if it is exact
SLACK = 3  # an exact one takes so many times what each of those to come would have, if that is more
FEW = 8  # rows of a batch that take no longer than a call
REPLAYS = 14  # of the first paths in the first case: other randomness than the script's may be one bit of a clock
LEFT_OVER = 3000  # calls, after which a subject that keeps random numbers should have used up those of a script
_OURS = ("Uniforms", "Exponentials", "Race")
Program = Callable[[Callable[..., Answer], Any], Answer]  # (call(case, input, random[, run]), random) -> the whole
Draws = AbstractContextManager[Callable[[int], list[Answer]]]


class Watch:
    """Observes one subject until the deadline (of clock.now), at most `grace` seconds later."""

    def __init__(
        self, subject: Subject, *, deadline: float, patience: float, delta: float, seed: int, grace: float = 1.0
    ) -> None:
        self.subject, self.deadline, self.patience, self.delta, self.seed = subject, deadline, patience, delta, seed
        self.begun_at, self.grace = clock.now(), grace
        self.seen: dict[Any, Observation] = {}
        self.kinds: list[Evidence] = ["scripted", "Monte Carlo"]
        if subject.randomness == "coins":
            self.kinds.insert(1, "coins")
        self.why: list[str] = []  # stronger evidence was not to be had
        self.most: dict[Evidence, list[tuple[int, int]]] = {}  # sizes for which it took too long
        self.sampled = self.runs = 0
        self.ahead: list[Case] = []  # cases of the properties that follow
        self.open = SHARE  # observations among which what is left of the time is shared
        self.telling = True  # the property that is judged may take more than its share
        self.until = deadline  # the observation that is made must end by then
        self.shrinks = True  # a counterexample is made small
        self.own = hidden.generators(subject.run, subject.batch)
        self.floats = subject.dtype  # of its arithmetic: those of its laws, until it is found to be shorter
        self.refused = ""  # why no verdict is possible at all
        self.hidden = False  # whether it has randomness that no script sees
        self.pace = 0.0  # seconds of a single run, once it was too slow for a first look
        self.taken: set[int] = set()  # large vocabularies that were tried
        self.unfollowed: list[tuple[int, int]] = []  # sizes of cases of which only exact laws count, and none was had
        self.untaken: dict[int, str] = {}  # those at which its first call raised, in words
        self.called = False  # a call of the subject has come back
        self.shapes: set[Any] = set()  # of the calls that came back, of what compiles anew for each
        self.rows = Rows(self)
        self.dependent: dict[Any, bool] = {}  # case -> whether its rows hang together: if any do, single calls count

    def left(self) -> float:
        """Seconds."""
        return self.deadline - clock.now()

    def passed(self) -> float:
        return clock.now() - self.begun_at

    def __call__(self, case: Case, *, exact: bool = False) -> Observation:
        """The observation of a case; `exact` ones only, on demand. Raises Broken, OutOfTime."""
        key = key_of(case)
        if key not in self.seen:
            self.seen[key] = self._observed(case, exact)
        return self.seen[key]

    def through(self, cases: Iterable[Case]) -> Iterator[Case]:
        """The cases of a property, one after the other: those not seen yet share the time with those `ahead`."""
        own = list(cases)
        for i, case in enumerate(own):
            if not self.takes(case):
                continue
            sharing = (one for one in (*own[i:], *self.ahead) if not one.exact_only)
            self.open = max(len({key_of(one) for one in sharing} - self.seen.keys()), 1)
            yield case

    def takes(self, case: Case) -> bool:
        """Return whether the subject takes the case's vocabulary, and has an exact law where only that counts."""
        return fitting.takes(self, case) and (not case.exact_only or fitting.follows(self, case))

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
                whole = partial(program, self._scripted)
                found = scripted.law(whole, deadline=self._late(case), own=self.own)
                seen = Observation(case, found.law, "scripted", found.leaves, rounding=case.length * self.rounding)
                return seen._replace(programs=((whole, 1.0),))
            except scripted.NotReproducible as reason:
                self.mistrust(str(reason))
            except (scripted.NotScriptable, scripted.TooLong) as reason:
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
            if kind not in self.kinds or any(is_as_large(case, most) for most in self.most.get(kind, ())):
                continue
            if (exact or case.exact_only) and kind == "Monte Carlo":
                raise OutOfTime
            try:
                if kind == "Monte Carlo":
                    found = self._sampled(case, partial(sampler, self, case, given))
                    return found._replace(by_rows=is_batched(self, case) and not self.rows.serves)
                return self._exact(kind, case, given)
            except scripted.NotReproducible as reason:
                self.mistrust(str(reason))
            except scripted.NotScriptable as reason:
                self.kinds.remove(kind)
                self.why.append(f"not {kind}: {reason}")
            except scripted.TooLong as reason:
                if (
                    self.telling and not case.exact_only
                ):  # with less time it says nothing of cases that have fewer paths
                    self.most.setdefault(kind, []).append(size_of(case))
                self.why = list(dict.fromkeys([*self.why, f"not {kind} for {case.words}: {reason}"]))
        raise OutOfTime

    def once(self, case: Case, given: Input, random: Any, run: Callable[..., Any] | None = None) -> Answer:
        """One call, guarded; of the `run` of a text that was begun before, if there is one."""
        subject = self.subject if run is None else self.subject._replace(run=run, stateful=False)
        shape = size_of(case) if subject.arrays == "jax" else None
        self.called = self.called and shape in {None, *self.shapes}
        for _ in range(LEFT_OVER):
            self.runs += 1
            try:
                with self.guarded():
                    answer = call(subject, case, given, random)
                self.called = True
                self.shapes.add(shape)
                return answer
            except scripted.NotScriptable:
                if isinstance(random, scripted.Generator):
                    raise
        self.why.append("it keeps random numbers over calls, and does not come to new ones")
        raise OutOfTime

    def begun(self) -> Callable[..., Any]:
        """The `run` of a new text."""
        with self.guarded():
            run: Callable[..., Any] = self.subject.run() if self.subject.stateful else self.subject.run
            return run

    def guarded(self, rows: int = 1) -> AbstractContextManager[None]:
        """A call that hangs is broken; one that was begun too late, or has many rows, only ends the time.

        The first may use all of the time: it may import or compile the half of a library. So may the first of every
        shape where JAX compiles.
        """
        patience = self.patience if rows <= FEW else math.inf
        return within(patience, max(self.left(), 0) + self.grace, early=self.called)

    def _exact(self, kind: Evidence, case: Case, given: list[Input]) -> Observation:
        if kind == "coins":
            return coin_laws.observed(self, case, given, self._late(case))
        law: dict[Answer, float] = {}
        programs: list[tuple[Callable[[Any], Answer], float]] = []
        runs, until, marks = 0, self._late(case), hidden.marks(self.own)
        quicker = self.subject.batch is not None and self.subject.randomness != "coins"
        most = min(2 * MANY // len(given), MANY // 2) if quicker else scripted.MOST
        for done, one in enumerate(given):
            if quicker and runs * len(given) > MANY * done:
                raise scripted.TooLong(f"more than {MANY} paths, where rows of batches are quicker")
            again, program = 0 if self.seen else REPLAYS, partial(self._scripted, case, one)
            found = scripted.law(program, most=most, deadline=until, replays=again)
            self.runs -= found.replays  # they add nothing to the law
            runs += found.leaves
            add(law, found.law, one.weight)
            programs.append((program, one.weight))
        if marks != hidden.marks(self.own):
            raise scripted.NotReproducible(hidden.DRAWN)
        return Observation(case, law, kind, runs, rounding=self.rounding, programs=tuple(programs))

    @property
    def rounding(self) -> float:
        """Return how far rounding may move an exact law of one block."""
        return ROUNDING.get(self.floats, 1e-5)

    def mistrust(self, reason: str) -> None:
        """Take no law for exact any more, nor any that was found before."""
        self.hidden, self.kinds = True, ["Monte Carlo"]
        self.seen = {key: seen for key, seen in self.seen.items() if seen.evidence == "Monte Carlo"}
        self.why.append(f"not reproducible: {reason}")

    def rounds_to(self, dtype: str) -> None:
        """Take the subject's arithmetic for one of shorter floats; laws that were found stay, with more rounding."""
        self.floats = dtype
        self.why.append(f"it computes in {dtype}, and is declared {self.subject.dtype}")
        self.seen = {key: seen._replace(rounding=self.rounding) for key, seen in self.seen.items()}

    def _scripted(self, case: Case, given: Input, random: Any, run: Callable[..., Any] | None = None) -> Answer:
        try:
            with followed(self, random):
                return self.once(case, given, random, run)
        except Broken as broken:  # by what a stand-in is, or by itself?
            cause = broken.__cause__
            if isinstance(cause, TypeError | AttributeError) or any(name in str(broken) for name in _OURS):
                raise scripted.NotScriptable(str(broken)) from None
            raise

    def _late(self, case: Case) -> float:
        """When an exact observation has taken too long."""
        if case.exact_only:
            return clock.now() + self.left() / BRIEF
        return clock.now() + self.left() / (EXACT if self.telling else max(EXACT, self.open / SLACK))

    def _sampled(self, case: Case, draws: Callable[[int], Draws], wanted: float | None = None) -> Observation:
        """Frequencies until they are as precise as is wanted; earlier if they convict, or if others need the time."""
        self.sampled += 1
        delta = montecarlo.share(self.delta, self.sampled) / TESTS
        begun, left = clock.now(), max(self.left(), SHARE * 0.01)
        if any(self.dependent.values()):  # what decides is another property
            left /= SHARE
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
        except (OutOfTime, scripted.NotScriptable):  # rows of a batch may hold random numbers of a script
            self.why = list(dict.fromkeys([*self.why, f"no time for {montecarlo.FIRST} runs with random numbers"]))
            raise OutOfTime from None
        frequencies = {answer: n / counts.runs for answer, n in counts.counts.items()}
        rate = montecarlo.share(delta, counts.looks)
        return Observation(case, frequencies, "Monte Carlo", counts.runs, rate)
