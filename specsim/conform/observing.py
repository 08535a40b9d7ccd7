"""The law of what a subject emits in a case, by the strongest evidence that it allows.

No case is observed twice.
"""

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

# Most paths of a case that are followed if the rows of batches can be counted instead, which is
# quicker than more paths.
MANY = 3000
# How often the first path of every input is run again in the first case: what a program draws in
# secret may be a single bit of a clock, which two runs often have in common.
REPLAYS = 14
# Classes of stand-ins for random numbers. An error whose message names one was caused by it.
_STAND_INS = ("Uniforms", "Exponentials", "Race")
# program(call, random) returns the answer that several calls make together; call(case, input,
# random[, run]) makes one.
Program = Callable[[Callable[..., Answer], Any], Answer]


def observe(trial: Trial, case: Case, *, exact: bool = False) -> Observation:
    """Return the observation of a case; `exact` ones only, on demand. Raises Broken, OutOfTime."""
    observation = trial.findings.seen.get(key_of(case))
    if observation is not None:
        return observation
    return trial.findings.keep(_observed(trial, case, exact), case)


def observe_batches(trial: Trial, case: Case, *, exact: bool = False, wanted: float | None = None) -> Observation:
    """Return the frequencies of whole batches, whatever the evidence for single calls.

    `wanted` is the smallest total variation that they are to show, `montecarlo.WANTED` by default.
    Raises OutOfTime if exact evidence is asked for: batches have none.
    """
    if trial.budget.left() <= 0 or exact:
        raise OutOfTime
    return frequencies(trial, case, partial(neighboured, trial, case), wanted)


def follow(trial: Trial, case: Case, program: Program, *, exact: bool = False) -> Observation:
    """Return the law of what a program makes of several calls, by a script or else by frequencies.

    Raises OutOfTime if it is to be `exact` and no script can follow the program.
    """
    caller, findings = trial.caller, trial.findings
    if trial.budget.left() <= 0:
        raise OutOfTime

    # A subject that cannot be called with real random numbers is broken.
    program(caller.once, np.random.default_rng(caller.seed))

    # By a script, if it can be followed.
    if "scripted" in findings.kinds:
        try:
            whole = partial(program, partial(_scripted, trial))
            deadline = trial.budget.end_of_exact(case)
            exact_law = scripted.law(whole, deadline=deadline, generators=caller.generators)
            return Observation(
                case,
                exact_law.law,
                "scripted",
                exact_law.leaves,
                rounding=case.length * findings.rounding,
                programs=((whole, 1.0),),
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
    """Return the law of a case by coins or by a script: the laws of all inputs, mixed by weight.

    `choices` are all inputs that can be drafted. Raises what `scripted.law` raises, and TooLong if
    the subject has batches and the inputs have more than MANY paths together.
    """
    caller, deadline = trial.caller, trial.budget.end_of_exact(case)
    if kind == "coins":
        return coin_laws.observed(trial, case, choices, deadline)

    # Where rows of batches are quicker than many paths, one input has at most twice its share of
    # MANY paths, and at most half of all.
    has_quicker_rows = trial.subject.batch is not None and trial.subject.randomness != "coins"
    most_paths = scripted.MOST
    if has_quicker_rows:
        most_paths = min(2 * MANY // len(choices), MANY // 2)

    # Follow all paths of one input after the other.
    law: dict[Answer, float] = {}
    programs: list[tuple[Callable[[Any], Answer], float]] = []
    num_paths, states_before = 0, own_generators.marks(caller.generators)
    replays = 0 if trial.findings.seen else REPLAYS
    for num_inputs, choice in enumerate(choices):
        # Give up if all inputs would have more than MANY paths, at the mean of those before this.
        if has_quicker_rows and num_paths * len(choices) > MANY * num_inputs:
            raise scripted.TooLong(f"more than {MANY} paths, where rows of batches are quicker")
        program = partial(_scripted, trial, case, choice)
        input_law = scripted.law(program, most=most_paths, deadline=deadline, replays=replays)
        # Replays add nothing to the law: they are not counted as runs.
        caller.reset_runs(caller.runs - input_law.replays)
        num_paths += input_law.leaves
        add(law, input_law.law, choice.weight)
        programs.append((program, choice.weight))

    # A generator of the subject's own that was drawn from has another state now.
    if states_before != own_generators.marks(caller.generators):
        raise scripted.NotReproducible(own_generators.DRAWN)
    rounding = trial.findings.rounding
    return Observation(case, law, kind, num_paths, rounding=rounding, programs=tuple(programs))


def _scripted(trial: Trial, case: Case, choice: Input, random: Any, run: Callable[..., Any] | None = None) -> Answer:
    """Return the answer of a call with a script's random numbers.

    Raises NotScriptable if the call fails because of a stand-in for random numbers.
    """
    try:
        with followed(trial.subject, random):
            return trial.caller.once(case, choice, random, run)
    except Broken as broken:
        cause = broken.__cause__
        names_stand_in = any(name in str(broken) for name in _STAND_INS)
        if isinstance(cause, TypeError | AttributeError) or names_stand_in:
            raise scripted.NotScriptable(str(broken)) from None
        raise
