"""The law of what a subject emits in a case, by the strongest evidence that it allows; no case is observed twice."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from specsim.conform import coin_laws
from specsim.conform.caller import followed
from specsim.conform.cases import Case
from specsim.conform.draws import frequencies, is_batched, neighboured, repeated, sampler
from specsim.conform.observation import Observation, add, key_of
from specsim.conform.subject_call import Answer, Broken, Input, inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.conform.verdict import Evidence
from specsim.forking.programs import own_generators, scripted

# Most paths of a case where the rows of batches could be counted instead: coins that are drawn up
# front have more.
MANY = 3000
# Replays of the first paths in the first case: hidden randomness may be a single bit of a clock.
REPLAYS = 14
# Names that stand in an error which a stand-in for random numbers has caused.
_OURS = ("Uniforms", "Exponentials", "Race")
# program(call, random) returns the answer that several calls make together; call(case, input,
# random[, run]) makes one.
Program = Callable[[Callable[..., Answer], Any], Answer]


def observe(trial: Trial, case: Case, *, exact: bool = False) -> Observation:
    """Return the observation of a case; `exact` ones only, on demand. Raises Broken, OutOfTime."""
    seen = trial.findings.seen.get(key_of(case))
    if seen is not None:
        return seen
    return trial.findings.keep(_observed(trial, case, exact), case)


def observe_batches(trial: Trial, case: Case, *, exact: bool = False, wanted: float | None = None) -> Observation:
    """Return the frequencies of whole batches, whatever the evidence for single calls."""
    if trial.budget.left() <= 0 or exact:
        raise OutOfTime
    return frequencies(trial, case, partial(neighboured, trial, case), wanted)


def follow(trial: Trial, case: Case, program: Program, *, exact: bool = False) -> Observation:
    """Return the law of what a program makes of several calls; `exact`, or by frequencies where it cannot be had."""
    caller, findings = trial.caller, trial.findings
    if trial.budget.left() <= 0:
        raise OutOfTime

    # A subject that cannot be called with real random numbers is broken.
    program(caller.once, np.random.default_rng(caller.seed))

    # By a script, if it can be followed.
    if "scripted" in findings.kinds:
        try:
            whole = partial(program, partial(_scripted, trial))
            until = trial.budget.end_of_exact(case)
            followed_law = scripted.law(whole, deadline=until, generators=caller.generators)
            rounding = case.length * findings.rounding
            return Observation(
                case, followed_law.law, "scripted", followed_law.leaves, rounding=rounding, programs=((whole, 1.0),)
            )
        except scripted.NotReproducible as reason:
            findings.mistrust(str(reason))
        except (scripted.NotScriptable, scripted.TooLong) as reason:
            findings.note_once(f"not scripted for {case.words}: {reason}")

    # By frequencies.
    if exact:
        raise OutOfTime
    return frequencies(trial, case, partial(repeated, trial, partial(program, caller.once)))


def _observed(trial: Trial, case: Case, exact: bool) -> Observation:
    """Return what is seen in a case by the strongest kind of evidence that is to be had."""
    caller, findings = trial.caller, trial.findings
    if trial.budget.left() <= 0:
        raise OutOfTime

    # A subject that cannot be called with real random numbers is broken.
    choices = inputs(trial.subject, case)
    caller.once(case, choices[0], np.random.default_rng(caller.seed))

    # Try the kinds of evidence, the strongest first.
    for kind in list(findings.kinds):
        if kind not in findings.kinds or findings.is_too_long(kind, case):
            continue
        if (exact or case.exact_only) and kind == "Monte Carlo":
            raise OutOfTime
        try:
            if kind == "Monte Carlo":
                frequent = frequencies(trial, case, partial(sampler, trial, case, choices))
                return frequent._replace(by_rows=is_batched(trial, case) and not caller.is_compiled)
            return _exact(trial, kind, case, choices)
        except scripted.NotReproducible as reason:
            findings.mistrust(str(reason))
        except scripted.NotScriptable as reason:
            findings.give_up(kind, str(reason))
        except scripted.TooLong as reason:
            # With priority the case had enough time: cases that are as large would take too long,
            # too.
            if trial.budget.is_priority and not case.exact_only:
                findings.note_too_long(kind, case)
            findings.note_once(f"not {kind} for {case.words}: {reason}")
    raise OutOfTime


def _exact(trial: Trial, kind: Evidence, case: Case, choices: list[Input]) -> Observation:
    """Return the law of a case by coins or by a script, input by input."""
    caller, until = trial.caller, trial.budget.end_of_exact(case)
    if kind == "coins":
        return coin_laws.observed(trial, case, choices, until)
    law: dict[Answer, float] = {}
    programs: list[tuple[Callable[[Any], Answer], float]] = []
    runs, marks = 0, own_generators.marks(caller.generators)

    # Rows of batches are quicker than many paths.
    is_quicker = trial.subject.batch is not None and trial.subject.randomness != "coins"
    most = min(2 * MANY // len(choices), MANY // 2) if is_quicker else scripted.MOST
    for number, choice in enumerate(choices):
        if is_quicker and runs * len(choices) > MANY * number:
            raise scripted.TooLong(f"more than {MANY} paths, where rows of batches are quicker")
        replays, program = 0 if trial.findings.seen else REPLAYS, partial(_scripted, trial, case, choice)
        followed_law = scripted.law(program, most=most, deadline=until, replays=replays)
        caller.reset_runs(caller.runs - followed_law.replays)  # they add nothing to the law
        runs += followed_law.leaves
        add(law, followed_law.law, choice.weight)
        programs.append((program, choice.weight))
    if marks != own_generators.marks(caller.generators):
        raise scripted.NotReproducible(own_generators.DRAWN)
    return Observation(case, law, kind, runs, rounding=trial.findings.rounding, programs=tuple(programs))


def _scripted(trial: Trial, case: Case, choice: Input, random: Any, run: Callable[..., Any] | None = None) -> Answer:
    """Return the answer of a call with a script's random numbers; NotScriptable where a stand-in broke it."""
    try:
        with followed(trial.subject, random):
            return trial.caller.once(case, choice, random, run)
    except Broken as broken:
        cause = broken.__cause__
        if isinstance(cause, TypeError | AttributeError) or any(name in str(broken) for name in _OURS):
            raise scripted.NotScriptable(str(broken)) from None
        raise
