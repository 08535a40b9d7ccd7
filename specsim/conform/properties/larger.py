"""Nothing goes wrong at sizes beyond those of the other cases.

Long blocks and wide trees have an exact law where few tokens can be drafted. Beyond that there is
one look by frequencies at more tokens, longer blocks, more candidates and wider trees. Only shares
of tokens are compared, of kinds that tell what is wrong (`large_cases`). What cannot take such a
size is not asked, and it is said. The time is a small part of what the other properties took, so
that a slow subject has fewer runs.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from specsim.base import clock
from specsim.conform import fitting
from specsim.conform.argument_words import argument_words
from specsim.conform.cases import Case
from specsim.conform.draws import drafted, seeded
from specsim.conform.evidence.shares import Share, excess, nats, seen_from
from specsim.conform.large_cases import Large, large, long, shares
from specsim.conform.observing import observe
from specsim.conform.properties import _laws, joint
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Answer, Broken, Input
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.conform.verdict import LARGER, Counterexample, Outcome, Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "what is convicted, priced or broken at small sizes is not tried at larger ones"
# Runs of a case at most.
RUNS = 1000
# Runs of a case at least: with so many, a rejected token that is always accepted shows.
FEWEST = 30
# Runs that show a share only if it is off by more than this tell nothing.
TELLING = 0.3
# Runs whose laws are held in memory at a time.
CHUNK = 250
# Runs that are timed, to know how many there is time for.
PROBE = 10
# All of these looks may take this fraction of the seconds that the judgement took before, and at
# least so many seconds.
PART, LEAST = 0.1, 5.0
# Types whose sums of so many probabilities are off by more than is looked for.
SHORT = ("float16", "bfloat16")


class Seen(NamedTuple):
    """The outcome of one look at a case: its share that is the furthest off, and whether that convicts."""

    worst: Share
    convicts: bool
    runs: int
    # The smallest deviation that every share would have shown.
    detectable: float
    example: Input


def cases(subject: Subject) -> Iterable[Case]:
    """Return the cases: more tokens, and more drafts."""
    return [size.case for size in large(subject)]


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict of one look at each larger size, if there is time for one."""
    before = trial.caller.runs
    exactly, blocks, left_out = _long(subject, trial)
    if exactly is not None and exactly.outcome != "lossless":
        return exactly
    begun = clock.now()
    if subject.dtype in SHORT:
        words = f"sums of many probabilities are no laws in {subject.dtype}"
        return Verdict(subject.name, "larger", "not available", words=f"larger sizes were not tried: {words}")
    until = begun + min(max(PART * trial.budget.passed(), LEAST), trial.budget.left() / 2)
    sizes, reach, widest = list(large(subject)), list[str](), 0.0

    # Take one look at each size, in an equal part of the time that is left.
    for done, size in enumerate(sizes):
        case_words = size.case.words
        part_of_time = (until - clock.now()) / (len(sizes) - done)
        try:
            look = _look(trial, size, clock.now() + part_of_time)
        except _Refused as reason:
            left_out.append(f"it does not take {case_words}: {reason}")
            continue
        except OutOfTime:
            left_out.append(f"no time for {case_words}: give it {LARGER}")
            continue
        if look.convicts:
            return _convicted(subject, size, look, trial.caller.runs - before)
        if look.detectable > TELLING:
            left_out.append(f"{look.runs} runs of {case_words} tell nothing: give it {LARGER}")
            continue
        reach.append(f"{case_words} ({look.runs} runs)")
        widest = max(widest, look.detectable)

    # Say how far the sizes reach, and which were left out.
    without = "; ".join(dict.fromkeys(left_out))
    if not reach and exactly is not None:
        return exactly._replace(reach="; ".join([*blocks, *filter(None, [without])]))
    if not reach:
        words = f"larger sizes were not tried: {without}"
        return Verdict(subject.name, "larger", "not available", runs=trial.caller.runs - before, words=words)
    all_reach = "; ".join(
        [*blocks, *reach, f"shares of tokens that are off by {widest:.2g} would be seen", *filter(None, [without])]
    )
    return Verdict(subject.name, "larger", "lossless", "Monte Carlo", all_reach, trial.caller.runs - before)


def _long(subject: Subject, trial: Trial) -> tuple[Verdict | None, list[str], list[str]]:
    """Return the verdict on exact laws of long blocks (None without one), the blocks judged, and those left out."""
    verdict = None
    judged, left_out = list[str](), list[str]()
    exact = partial(observe, trial, exact=True)
    for case in long(subject):
        if trial.findings.is_slow(case.target.vocab) or trial.budget.left() <= 0:
            left_out.append(f"no exact law of {case.words}")
            continue
        # It may refuse so many drafts, and take the vocabulary in other cases.
        refusal = fitting.first_error(trial, case)
        if refusal is not None:
            left_out.append(f"it does not take {case.words}: {refusal}")
            continue
        try:
            verdict = _laws.each("larger", subject, trial, [case], joint.look, exact)
        except Broken as broken:
            # What raises may have a table of some size; a wrong answer is broken.
            if not broken.__cause__:
                raise
            left_out.append(f"it does not take {case.words}: {broken}")
            continue
        except OutOfTime:
            left_out.append(f"no exact law of {case.words}")
            continue
        if verdict.outcome != "lossless":
            return verdict, judged, left_out
        judged.append(f"{case.words} (exactly, where few tokens can be drafted)")
    return verdict, judged, left_out


class _Refused(Exception):
    """The first call at a size raised."""


def _look(trial: Trial, size: Large, until: float) -> Seen:
    """Return the outcome of as many runs as there is time for, half of them as rows of batches if it has any.

    Raises _Refused if the subject does not take the size, and OutOfTime.
    """
    findings, caller, number = trial.findings, trial.caller, trial.findings.begin_look()
    subject, case, seed = trial.subject, size.case, caller.seed + number
    rng = np.random.default_rng([seed, 3])
    has_rows = subject.batch is not None and not subject.logprobs

    # One call shows whether it takes this size; more calls are timed.
    if findings.is_slow(case.target.vocab):
        raise _Refused("a call with fewer tokens did not come back")
    if trial.budget.left() <= 0:
        raise OutOfTime
    with seeded(seed) as random:
        first = drafted(subject, case, PROBE, rng)
        try:
            caller.once_each(case, first[:1], random, rows=False)
        except Broken as broken:
            if broken.__cause__ is None:
                raise
            raise _Refused(str(broken)) from None
        begun = clock.now()
        caller.once_each(case, first[1:], random, rows=False)
        pace = (clock.now() - begun) / (PROBE - 1)

        # The number of runs is fixed before any of them is counted. Every second chunk is of rows.
        runs = min(RUNS, int((until - clock.now()) / max(pace, 1e-9)))
        if runs < FEWEST:
            raise OutOfTime
        answers = list[Answer]()
        while len(answers) < runs:
            count = min(CHUNK, runs - len(answers))
            rows = has_rows and len(answers) // CHUNK % 2 == 1
            answers += caller.once_each(case, drafted(subject, case, count, rng), random, rows=rows)

    # The share that is the furthest off, by the test of `shares`: n KL(observed, expected) of any
    # share is above `limit` with probability at most the error rate of this look.
    measured = shares(size, [answer.text for answer in answers])
    limit = nats(len(measured), findings.rate(number))
    worst = max(measured, key=lambda share: excess(share, runs, findings.rounding))
    convicts = excess(worst, runs, findings.rounding) > limit

    # The deviation from which on each share would have convicted.
    detectable = max(seen_from(share.expected, runs, limit) for share in measured if 0 < share.expected < 1)
    return Seen(worst, convicts, runs, detectable, first[0])


def _convicted(subject: Subject, size: Large, look: Seen, runs: int) -> Verdict:
    """Return the conviction by the share that is the furthest off, with one of the inputs."""
    words, observed, expected = look.worst
    p, q, drafts = _shown(subject, look.example)
    arguments = argument_words(subject, size.case, look.example.tree)
    shown = Counterexample(size.case.words, p, q, drafts, words, {words: expected}, {words: observed}, arguments)
    sentence = f"{words} have probability {observed:.4g}, not {expected:.4g} ({size.case.words}, {look.runs} runs)"
    outcome: Outcome = "convicted" if subject.lossless else "lossy by design"
    off = abs(observed - expected)
    return Verdict(subject.name, "larger", outcome, "Monte Carlo", size.case.words, runs, off, shown, sentence)


def _shown(subject: Subject, example: Input) -> tuple[Any, Any, Any]:
    """Return p, q and drafts of an input as lists; None for each of a subject that is handed no laws."""
    if example.tree is None:
        return None, None, None
    q = None if example.q is None else example.q.tolist()
    return example.p.tolist(), q, np.asarray(example.tree.tokens).tolist()
