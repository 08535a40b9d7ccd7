"""Before a law that is not the target's convicts anybody: is it a law at all, and is it more than rounding?

A script sees no other randomness than its own, and a law that it found may be one draw of the
subject's. If a lossless subject has the law of a path's results by such a draw, a run along the
path ends otherwise with some probability, and over the paths that convict, in proportion to their
weight, with probability at least d: by how much their outcome comes too often, over how often it
comes. So n = ln(1/delta) / d runs all agree with probability delta at most.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from specsim.base import clock
from specsim.conform import coin_laws
from specsim.conform.cases import Case
from specsim.conform.draws import seeded
from specsim.conform.independence import varies
from specsim.conform.observation import Observation, add, distance, key_of
from specsim.conform.subject import Model, Subject
from specsim.conform.subject_call import Answer, Broken, inputs, model
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.conform.verdict import LARGER
from specsim.forking.programs import scripted

# Fraction of the false-alarm rate that is spent on laws which are one draw of hidden randomness.
PART = 0.1
# Runs that are timed, to know how long all of them take.
TRIED = 500
# Runs that must agree take at most 1 / SHARE of the time left.
SHARE = 2
# Distances that float32 arithmetic explains.
FLOAT32 = 1e-5
# Laws that differ by less have the same thresholds.
SAME = 1e-13
# No text of any case begins with this one.
NEW = (0, 0, 1, 1, 0, 1, 0, 0, 0, 1, 1)
# Why a law does not convict: empty where it does, AGAIN where the case has to be observed anew.
Doubt = str
AGAIN = "again"
# Batches of the same rows, whose frequencies vary over the calls where rows depend on each other;
# and the rows of each.
CALLS = 16
ROWS = 250
# Fewest batches from which something is learnt, if the time ends.
FEWEST = 4
# observe(case, *, exact) returns the observation of a case.
Observe = Callable[..., Observation]


def doubt(trial: Trial, observation: Observation, wrong: float, observe: Observe) -> Doubt:
    """Return why a law whose distance from the target's is `wrong` does not convict; empty if it does.

    AGAIN: the findings have changed, and the case has to be observed anew.
    """
    with trial.caller.uncounted():
        try:
            return _doubt(trial, observation, wrong, observe)
        except (scripted.NotReproducible, scripted.NotScriptable) as reason:
            # The first run could be followed, and a later one could not.
            trial.findings.mistrust(str(reason))
            return AGAIN


def _doubt(trial: Trial, observation: Observation, wrong: float, observe: Observe) -> Doubt:
    """Return the doubt of `doubt`; errors of a script pass through."""
    case, findings = observation.case, trial.findings

    # Is any verdict possible?
    if findings.refused:
        return findings.refused
    if trial.subject.kind == "decoder" and _keeps_rows(trial, case):
        findings.refuse(
            f"it keeps rows of its target over calls: it did not ask for the law after {case.prompt}, as it does after "
            "a text that is new to it; every case has another model: keep rows by the model, or not at all"
        )
        return findings.refused

    # Are rows of a batch independent runs?
    if observation.by_rows and rows_depend(trial, case):
        findings.forget(case)
        findings.note("rows of one batch hang together: of every call one row is counted")
        return AGAIN
    if observation.evidence not in ("scripted", "coins"):
        return ""

    # Are shorter floats the reason?
    if wrong <= FLOAT32 and _computes_in_float32(trial, observation, observe):
        findings.round_to("float32")
        return AGAIN

    # Do as many runs agree as the distance asks for?
    repeat = _by_script if observation.evidence == "scripted" else _by_coins
    agreeing, asked = repeat(trial, observation, wrong)
    if agreeing >= asked:
        return ""
    return (
        f"a total variation of {wrong:.2g} in {case.words} may come from shorter floats, or from randomness that is "
        f"not seen: before it convicts, {asked} more runs have to agree, for which it takes {LARGER}"
    )


def rows_depend(trial: Trial, case: Case) -> bool:
    """Return whether rows of one call depend on each other: their frequencies vary too much from call to call."""
    earlier = trial.findings.dependent.get(key_of(case))
    if earlier is not None:
        return earlier

    # Every call has the same inputs in the same rows.
    time_left = trial.budget.left
    choices = inputs(trial.subject, case)
    weights = np.array([choice.weight for choice in choices])
    chosen = np.random.default_rng(trial.caller.seed).choice(len(choices), size=ROWS, p=weights / weights.sum())

    # Call as often as there is time for, and compare the calls.
    calls: list[Any] = []
    with seeded(trial.caller.seed) as random:
        for _ in range(CALLS):
            if time_left() <= 0 and len(calls) < FEWEST:
                raise OutOfTime
            if time_left() <= 0:
                break
            calls.append([answer.text for answer in trial.caller.batched(case, choices, chosen, random)])
    return trial.findings.note_dependence(case, depend=varies(calls))


def runs_asked(trial: Trial, share: float) -> int:
    """Return how many runs must agree, if that share of them would end otherwise.

    All of them agree with a probability that is a small part of the false-alarm rate.
    """
    return math.ceil(-math.log(PART * trial.findings.delta) / share)


def _by_script(trial: Trial, observation: Observation, wrong: float) -> tuple[int, int]:
    """Return the runs along convicting paths that agreed, and the runs that must."""
    # Of the runs along convicting paths, a fraction `share` would end otherwise if the law were one
    # draw.
    likely, share = _outcome(trial, observation, wrong)
    asked = runs_asked(trial, share)

    # Follow the law again, this time with its paths.
    until = clock.now() + trial.budget.left() / SHARE
    paths: list[tuple[Any, scripted.Path, float]] = []
    law: dict[Answer, float] = {}
    try:
        for program, weight in observation.programs:
            followed_law = scripted.law(program, deadline=until, keep=True, generators=trial.caller.generators)
            paths += [(program, path, weight * path.weight) for path in followed_law.paths]
            add(law, followed_law.law, weight)
    except scripted.TooLong:
        return 0, asked

    # The paths convict only if they are those of the law that convicts.
    if distance(law, observation.law) > SAME:
        raise scripted.NotReproducible("a law that was found anew is another one")
    convicting = [(program, path, weight * likely(path.result)) for program, path, weight in paths]
    return agreed(trial, convicting, asked), asked


def agreed(trial: Trial, paths: list[tuple[Any, scripted.Path, float]], asked: int) -> int:
    """Return how many runs along paths, drawn by their weights, agreed in the time; NotReproducible if one does not.

    A path is (program, path, weight); after a few runs it is known whether there is time for as
    many as are asked for.
    """
    weights = np.array([weight for *_, weight in paths])
    rng = np.random.default_rng(trial.caller.seed)
    done, begun = 0, clock.now()
    until = begun + trial.budget.left() / SHARE

    # A few runs are timed first; then the rest, if there is time for them.
    for size in (min(TRIED, asked), asked - min(TRIED, asked)):
        if (clock.now() - begun) / max(done, 1) * asked > until - begun:
            break
        # Each path as often as it was drawn; paths of one program are replayed together.
        programs: dict[int, Any] = {}
        copies: dict[int, list[scripted.Path]] = {}
        counts = rng.multinomial(size, weights / weights.sum())
        for (program, path, _), count in zip(paths, counts.tolist(), strict=True):
            programs[id(program)] = program
            copies.setdefault(id(program), []).extend([path] * count)
        done += sum(scripted.replay(programs[key], drawn, deadline=until) for key, drawn in copies.items() if drawn)
    return done


def _outcome(trial: Trial, observation: Observation, wrong: float) -> tuple[Callable[[Answer], float], float]:
    """Return how likely a convicting outcome is after an answer, and the share of runs that hidden randomness changes.

    The convicting outcome is the text that comes too often by the largest factor. Of a drafter, or
    where no text comes too often, it is any outcome.
    """
    if trial.subject.kind == "drafter":
        return (lambda answer: 1.0), wrong

    # The share of a text's runs that are too many: (observed - goal) / observed.
    observed, goal = observation.joint(observation.case.length), observation.goal(observation.case.length)
    shares = {
        text: (mass - goal.get(text, 0.0)) / mass
        for text, mass in observed.items()
        if mass - goal.get(text, 0.0) > observation.rounding
    }
    if max(shares.values(), default=0.0) <= wrong:
        return (lambda answer: 1.0), wrong
    worst = max(shares, key=lambda text: shares[text])
    return (lambda answer: observation.chance(answer, worst)), shares[worst]


def _by_coins(trial: Trial, observation: Observation, wrong: float) -> tuple[int, int]:
    """Return (random points that agreed, points that must) of a law by coins that is estimated anew."""
    asked = runs_asked(trial, wrong)
    until = clock.now() + trial.budget.left() / SHARE
    try:
        estimate = coin_laws.observed(trial, observation.case, list(observation.drafted), until, asked)
    except scripted.TooLong:
        return 0, asked
    except scripted.NotScriptable as reason:
        raise scripted.NotReproducible(str(reason)) from None
    if distance(estimate.law, observation.law) > SAME:
        raise scripted.NotReproducible("a law that was found anew is another one")
    return asked, asked


def _keeps_rows(trial: Trial, case: Case) -> bool:
    """Return whether a decoder answers from rows of another model: it asks a new one for no law."""
    is_asked = []
    for prompt in (case.prompt, case.prompt + NEW):
        fresh = case._replace(target=case.target._replace(table=dict(case.target.table)), prompt=prompt)
        trial.caller.once(fresh, inputs(trial.subject, fresh)[0], np.random.default_rng(trial.caller.seed))
        is_asked.append(prompt in model(fresh.target, new=False).texts)
    return is_asked == [False, True]


def _computes_in_float32(trial: Trial, observation: Observation, observe: Observe) -> bool:
    """Return whether the subject takes float64, and has the same law when its inputs were rounded to float32 before.

    A decoder may draw drafts from the rows as they are: of it those of the target alone are
    rounded, too.
    """
    if not trial.findings.is_float64 or not (trial.subject.logits or _is_rounded(observation.case)):
        return False
    choices = (True, False) if trial.subject.kind == "decoder" else (True,)
    return any(_is_law_of(trial, rounded(trial.subject, both), observation, observe) for both in choices)


def _is_law_of(trial: Trial, other: Subject, observation: Observation, observe: Observe) -> bool:
    """Return whether another subject has the same law."""
    with trial.caller.replaced(other), trial.findings.set_aside():
        try:
            return distance(observe(observation.case, exact=True).law, observation.law) <= SAME
        except (Broken, OutOfTime):
            return False


def _is_rounded(case: Case) -> bool:
    """Return whether rounding to float32 changes any law of a case; where it does not, it teaches nothing."""
    rows = [row for model in (case.target, case.draft) for row in model.table.values()]
    return any(float(np.float32(float(value))) != float(value) for row in rows for value in row)


def rounded(subject: Subject, both: bool = True) -> Subject:
    """Return the subject on laws, or models, that were rounded to float32 before: of target and draft, if `both`."""

    def short(held: Any) -> Any:
        """Return an array or a model rounded to float32; all else as it is."""
        if isinstance(held, Model):
            return Model(lambda text: short(np.asarray(held(text))), held.vocab)
        if hasattr(held, "detach"):
            return held.float().to(held.dtype) if held.is_floating_point() else held
        if isinstance(held, np.ndarray) and held.dtype == np.float64:
            return held.astype(np.float32).astype(np.float64)
        return held

    def call(inner: Any, first: Any, second: Any, *more: Any, **named: Any) -> Any:
        """Call the subject with rounded laws; models of a decoder keep count of its passes."""
        originals, passed = (first, second), (short(first), short(second) if both else second)
        answer = inner(*passed, *more, **named)
        for original, copy in zip(originals, passed, strict=True):
            if isinstance(original, Model):
                original.passes = copy.passes
        return answer

    # A stateful subject makes its `run` anew for every text.
    if not subject.stateful:
        return subject._replace(run=partial(call, subject.run))
    return subject._replace(run=lambda: partial(call, subject.run()))
