"""Before a law that is not the target's convicts anybody: is it a law at all, and is it more than rounding?

A script sees no other randomness than its own, and a law that it found may be one draw of the subject's. If a lossless
subject has the law of a path's results by such a draw, a run along the path ends otherwise with some probability, and
over the paths that convict, in proportion to their weight, with probability at least d: by how much their outcome comes
too often, over how often it comes. So n = ln(1/delta) / d runs all agree with probability delta at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from specsim.conform import clock, coin_laws
from specsim.conform.cases import Case
from specsim.conform.draws import batched, seeded
from specsim.conform.evidence import scripted
from specsim.conform.independence import varies
from specsim.conform.observation import Observation, add, distance, key_of
from specsim.conform.subject import Model, Subject
from specsim.conform.subject_call import Answer, Broken, inputs, model
from specsim.conform.timeout import OutOfTime
from specsim.conform.verdict import LARGER

if TYPE_CHECKING:
    from specsim.conform.watch import Watch

PART = 0.1  # of the false-alarm rate, for laws that are one draw of hidden randomness
TRIED = 500  # runs, after which it is known how long all of them take
SHARE = 2  # of the time that is left, this part is taken at most
FLOAT32 = 1e-5  # distances that float32 arithmetic explains
SAME = 1e-13  # laws that differ by less have the same thresholds
NEW = (0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1)  # no text of any case begins with it
Doubt = str  # why a law convicts nobody: empty where it does, AGAIN where it was found anew
AGAIN = "again"
CALLS = 16  # batches of the same rows, whose frequencies vary with the calls where rows hang together
ROWS = 250  # of each
FEWEST = 4  # of them from which something is learnt where the time ends
Observe = Callable[..., Observation]  # (case, *, exact) -> what is seen in it


def doubt(watch: Watch, seen: Observation, wrong: float, observe: Observe) -> Doubt:
    """Why a law that is wrong by so much, of at most 1, convicts nobody; the watch may observe otherwise then."""
    runs = watch.runs
    try:
        return _doubt(watch, seen, wrong, observe)
    except (scripted.NotReproducible, scripted.NotScriptable) as reason:  # of a run after the first
        watch.mistrust(str(reason))
        return AGAIN
    finally:
        watch.runs = runs  # they add nothing to the law


def _doubt(watch: Watch, seen: Observation, wrong: float, observe: Observe) -> Doubt:
    case = seen.case
    if watch.refused:
        return watch.refused
    if watch.subject.kind == "decoder" and _keeps_rows(watch, case):
        watch.refused = (
            f"it keeps rows of its target over calls: it did not ask for the law after {case.prompt}, as it does after "
            "a text that is new to it; every case has another model: keep rows by the model, or not at all"
        )
        return watch.refused
    if seen.by_rows and rows_depend(watch, case):
        watch.seen.pop(key_of(case), None)
        watch.why.append("rows of one batch hang together: of every call one row is counted")
        return AGAIN
    if seen.evidence not in ("scripted", "coins"):
        return ""
    if wrong <= FLOAT32 and _computes_in_float32(watch, seen, observe):
        watch.rounds_to("float32")
        return AGAIN
    done, asked = (_by_script if seen.evidence == "scripted" else _by_coins)(watch, seen, wrong)
    if done >= asked:
        return ""
    return (
        f"a total variation of {wrong:.2g} in {case.words} may come from shorter floats, or from randomness that is "
        f"not seen: before it convicts, {asked} more runs have to agree, for which it takes {LARGER}"
    )


def rows_depend(watch: Watch, case: Case) -> bool:
    """Whether rows of one call hang together, so that they are no independent runs: their frequencies vary too much."""
    key = key_of(case)
    if key in watch.dependent:
        return watch.dependent[key]
    given = inputs(watch.subject, case)
    weights = np.array([one.weight for one in given])
    chosen = np.random.default_rng(watch.seed).choice(len(given), size=ROWS, p=weights / weights.sum())
    calls = []
    with seeded(watch.seed) as random:
        for done in range(CALLS):
            if watch.left() <= 0 and done < FEWEST:
                raise OutOfTime
            if watch.left() <= 0:
                break
            calls.append([answer.text for answer in batched(watch, case, given, chosen, random)])
    watch.dependent[key] = varies(calls)
    return watch.dependent[key]


def runs_asked(watch: Watch, share: float) -> int:
    """Runs that all agree with a small part of the false-alarm rate, if that share of them would end otherwise."""
    return math.ceil(-math.log(PART * watch.delta) / share)


def _by_script(watch: Watch, seen: Observation, wrong: float) -> tuple[int, int]:
    """(runs along convicting paths that agreed, runs that must)."""
    likely, share = _outcome(watch, seen, wrong)
    asked = runs_asked(watch, share)
    until = clock.now() + watch.left() / SHARE
    paths: list[tuple[Any, scripted.Path, float]] = []
    law: dict[Answer, float] = {}
    try:
        for program, weight in seen.programs:
            found = scripted.law(program, deadline=until, keep=True, own=watch.own)
            paths += [(program, path, weight * path.weight) for path in found.paths]
            add(law, found.law, weight)
    except scripted.TooLong:
        return 0, asked
    if distance(law, seen.law) > SAME:  # the paths that convict are those of the law that convicts
        raise scripted.NotReproducible("a law that was found anew is another one")
    return agreed(watch, [(one, path, weight * likely(path.result)) for one, path, weight in paths], asked), asked


def agreed(watch: Watch, paths: list[tuple[Any, scripted.Path, float]], asked: int) -> int:
    """How many runs along paths, drawn by their weights, agreed in the time; NotReproducible if one does not.

    A path is (program, path, weight); after a few runs it is known whether there is time for as many as are asked for.
    """
    weights = np.array([weight for *_, weight in paths])
    rng, done, begun = np.random.default_rng(watch.seed), 0, clock.now()
    until = begun + watch.left() / SHARE
    for size in (min(TRIED, asked), asked - min(TRIED, asked)):
        if (clock.now() - begun) / max(done, 1) * asked > until - begun:
            break
        chosen: dict[int, tuple[Any, list[scripted.Path]]] = {}
        counts = rng.multinomial(size, weights / weights.sum())
        for (program, path, _), count in zip(paths, counts.tolist(), strict=True):
            chosen.setdefault(id(program), (program, []))[1].extend([path] * count)
        done += sum(scripted.replay(program, some, deadline=until) for program, some in chosen.values() if some)
    return done


def _outcome(watch: Watch, seen: Observation, wrong: float) -> tuple[Callable[[Answer], float], float]:
    """How likely a convicting outcome is after an answer, and the share of runs that hidden randomness changes.

    It is the text that comes too often by the largest factor; of drafts, or where no text does, whatever is seen.
    """
    if watch.subject.kind == "drafter":
        return (lambda answer: 1.0), wrong
    observed, goal = seen.joint(seen.case.length), seen.goal(seen.case.length)
    shares = {
        text: (mass - goal.get(text, 0.0)) / mass
        for text, mass in observed.items()
        if mass - goal.get(text, 0.0) > seen.rounding
    }
    if max(shares.values(), default=0.0) <= wrong:
        return (lambda answer: 1.0), wrong
    worst = max(shares, key=lambda text: shares[text])
    return (lambda answer: seen.chance(answer, worst)), shares[worst]


def _by_coins(watch: Watch, seen: Observation, wrong: float) -> tuple[int, int]:
    """(random points that agreed with their boxes, points that must), in a law that was found anew."""
    asked = runs_asked(watch, wrong)
    until = clock.now() + watch.left() / SHARE
    try:
        found = coin_laws.observed(watch, seen.case, list(seen.given), until, asked)
    except scripted.TooLong:
        return 0, asked
    except scripted.NotScriptable as reason:
        raise scripted.NotReproducible(str(reason)) from None
    if distance(found.law, seen.law) > SAME:
        raise scripted.NotReproducible("a law that was found anew is another one")
    return asked, asked


def _keeps_rows(watch: Watch, case: Case) -> bool:
    """Whether a decoder answers from rows of another model: of a new one it asks for no law, but after a new text."""
    asked = []
    for prompt in (case.prompt, case.prompt + NEW):
        one = case._replace(target=case.target._replace(table=dict(case.target.table)), prompt=prompt)
        watch.once(one, inputs(watch.subject, one)[0], np.random.default_rng(watch.seed))
        asked.append(prompt in model(one.target, new=False).texts)
    return asked == [False, True]


def _computes_in_float32(watch: Watch, seen: Observation, observe: Observe) -> bool:
    """Whether the subject takes float64, and has the same law when its inputs were rounded to float32 before.

    A decoder may draw drafts from the rows as they are: of it those of the target alone are rounded, too.
    """
    if watch.floats != "float64" or not (watch.subject.logits or _is_rounded(seen.case)):
        return False
    choices = (True, False) if watch.subject.kind == "decoder" else (True,)
    return any(_is_law_of(watch, rounded(watch.subject, both), seen, observe) for both in choices)


def _is_law_of(watch: Watch, other: Subject, seen: Observation, observe: Observe) -> bool:
    """Whether another subject has the same law."""
    subject, held = watch.subject, watch.seen
    watch.subject, watch.seen = other, {}
    try:
        return distance(observe(seen.case, exact=True).law, seen.law) <= SAME
    except (Broken, OutOfTime):
        return False
    finally:
        watch.subject, watch.seen = subject, held


def _is_rounded(case: Case) -> bool:
    """Whether rounding to float32 changes any law of a case: else nothing is learnt from it."""
    rows = [row for model in (case.target, case.draft) for row in model.table.values()]
    return any(float(np.float32(float(value))) != float(value) for row in rows for value in row)


def rounded(subject: Subject, both: bool = True) -> Subject:
    """The subject on laws, or models, that were rounded to float32 before: those of target and draft, if both."""

    def short(held: Any) -> Any:
        if isinstance(held, Model):
            return Model(lambda text: short(np.asarray(held(text))), held.vocab)
        if hasattr(held, "detach"):
            return held.float().to(held.dtype) if held.is_floating_point() else held
        if isinstance(held, np.ndarray) and held.dtype == np.float64:
            return held.astype(np.float32).astype(np.float64)
        return held

    def call(inner: Any, first: Any, second: Any, *more: Any, **named: Any) -> Any:
        given, passed = (first, second), (short(first), short(second) if both else second)
        found = inner(*passed, *more, **named)
        for one, other in zip(given, passed, strict=True):
            if isinstance(one, Model):
                one.passes = other.passes
        return found

    if not subject.stateful:
        return subject._replace(run=partial(call, subject.run))
    return subject._replace(run=lambda: partial(call, subject.run()))
