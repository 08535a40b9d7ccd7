"""Texts verified in one call come out as if each had been verified alone, and independent of each other.

Small batches are judged exactly, by the joint law of all their rows: 1, 3, 5 and 8 equal ones, two
that draw a correction or a bonus, two of different laws, two among certain ones, and a single row
of each larger number of drafts. After that,
and where it cannot be had, the frequencies over the rows of large batches are judged: rows that
share random numbers are further from the law than independent ones can be. There, rows of two laws
stand at random places, and all of them count. Where no small batch can be followed, equal rows that
agree too often convict, too: of few that share a random number the frequencies are right.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np

from specsim.base import clock
from specsim.conform.argument_words import argument_words
from specsim.conform.cases import Case
from specsim.conform.doubts import agreed, runs_asked
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import ROUNDING, continued, distance
from specsim.conform.observing import observe_batches
from specsim.conform.properties._dependence import DEPEND, explained, in_time, shared
from specsim.conform.properties._laws import each
from specsim.conform.properties._rows import Batch, Row, certain, drawn, empty, even, larger
from specsim.conform.properties.joint import look
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.subject_call import Broken, Input, inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.conform.verdict import Counterexample, Verdict
from specsim.forking.programs import scripted

KINDS = ("step", "chain", "tree")
NEEDS = "the subject takes no batches (batch)"
# One batch takes at most 1 / SHARE of the time that is left.
SHARE = 6
# Rows of the batches in which all are alike.
EQUAL = (3, 5, 8)
UNFOLLOWED = (scripted.NotScriptable, scripted.NotReproducible, scripted.TooLong)
# The texts of all rows -> their probability.
Texts = dict[Any, float]


def cases(subject: Subject) -> Iterable[Case]:
    """Return the standard cases, which are observed anew."""
    return () if subject.batch is None else [case for case in standard(subject) if not case.exact_only]


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict on a subject that has a `batch`."""
    if subject.batch is None:
        return None

    # Exact laws of small batches; where there are none, the frequencies of large ones decide.
    result = _exactly(subject, trial)
    if result.evidence == "none":
        if (depending := shared(subject, trial)) is not None:
            return depending
        many = each("batches", subject, trial, cases(subject), look, partial(observe_batches, trial))
        if many.convicted:
            return explained(subject, trial, many)
        return many._replace(words="; ".join(filter(None, [many.words, result.words])))
    if result.outcome != "lossless":
        return result

    # Small batches are right: look at the rows of large ones, too.
    try:
        first = itertools.islice(standard(subject), 1)
        brief = partial(observe_batches, trial, wanted=montecarlo.UNDECIDED)
        many = each("batches", subject, trial, first, look, brief)
    except (Broken, OutOfTime) as reason:
        return result._replace(words=f"of more rows nothing is known: {reason or 'the budget ran out'}")
    if many.convicted:
        return explained(subject, trial, many)
    # Small batches can be right, and the frequencies too, where rows of large ones share random
    # numbers.
    if (depending := in_time(subject, trial)) is not None:
        return depending
    reach = f"{result.reach}; many rows, {many.reach}" if many.outcome == "lossless" else result.reach
    # The runs that are reported are the exact ones.
    return result._replace(reach=reach)


def _exactly(subject: Subject, trial: Trial) -> Verdict:
    """Return the exact verdict at the smallest size.

    It is without evidence where the first batch cannot be followed, and `words` say why.
    """
    before, worst = trial.caller.runs, 0.0
    exact_batches = list[Batch]()
    for batch in batches(subject):
        # Call it with real random numbers first: a batch that cannot be called is broken.
        chosen, _ = next(drafted(batch))
        trial.caller.batched(batch.rows[0].case, pool(batch), chosen, np.random.default_rng(trial.caller.seed))
        try:
            observed, paths = law(trial, batch)
        except (*UNFOLLOWED, Broken) as reason:
            if not exact_batches:
                words = f"{batch.words} are not scripted: {reason}"
                return Verdict(subject.name, "batches", "inconclusive", runs=trial.caller.runs - before, words=words)
            break

        # The joint law of independent rows is the product of their laws.
        alone = [continued(row.case.p, (), row.case.length) for row in batch.rows]
        expected = {
            tuple(text for text, _ in texts): math.prod(chance for _, chance in texts)
            for texts in itertools.product(*alone)
        }
        worst = max(worst, distance(observed, expected))

        # A wrong law convicts only if as many runs along its paths agree as hidden randomness could
        # not make agree.
        if worst > len(batch.rows) * ROUNDING.get(subject.dtype, 1e-5):
            runs, asked = trial.caller.runs, runs_asked(trial, distance(observed, expected))
            try:
                agreeing = agreed(trial, paths, asked)
            except (scripted.NotReproducible, scripted.NotScriptable) as reason:
                trial.findings.mistrust(str(reason))
                agreeing = 0
            # These runs add nothing to the law.
            trial.caller.reset_runs(runs)
            if agreeing < asked:
                words = f"{batch.words} are not scripted: {asked} runs along their paths do not agree, or have no time"
                return Verdict(subject.name, "batches", "inconclusive", runs=trial.caller.runs - before, words=words)
            return _convicted(subject, batch, observed, expected, trial.caller.runs - before)
        exact_batches.append(batch)
    reach = f"{_listed(exact_batches, smallest=True)} of the smallest size"
    if larger_words := _listed(exact_batches, smallest=False):
        reach += f"; 1 row of {larger_words}"
    return Verdict(subject.name, "batches", "lossless", "scripted", reach, trial.caller.runs - before, worst)


def _listed(batches: list[Batch], *, smallest: bool) -> str:
    """Return what batches are in words, either those of the smallest size or the others."""
    return "; ".join(dict.fromkeys(batch.words for batch in batches if batch.smallest == smallest))


def _convicted(subject: Subject, batch: Batch, observed: Texts, expected: Texts, runs: int) -> Verdict:
    """Return the conviction by the joint law of a batch, with the texts whose probability is the furthest off."""
    # Which texts are the furthest off, and does each row by itself have its law?
    worst = max(expected.keys() | observed.keys(), key=lambda key: abs(observed.get(key, 0.0) - expected.get(key, 0.0)))
    observed_chance, expected_chance = observed.get(worst, 0.0), expected.get(worst, 0.0)
    words = f"{worst} has probability {observed_chance:.4g}, not {expected_chance:.4g} (rows of one batch)"
    if all(_is_law_of_row(i, observed, expected, subject) for i in range(len(batch.rows))):
        words = f"{DEPEND}: {words}; each row by itself has its law"

    # The counterexample shows the first input of every row.
    rows = [row.inputs[0] for row in batch.rows]
    q = None if rows[0].q is None else [row.q.tolist() for row in rows if row.q is not None]
    reach = f"{batch.rows[0].case.words}, {batch.words}"
    arguments = argument_words(subject, batch.rows[0].case, rows[0].tree)
    shown = Counterexample(reach, [row.p.tolist() for row in rows], q, None, worst, expected, observed, arguments)
    outcome: Any = "convicted" if subject.lossless else "lossy by design"
    off = distance(observed, expected)
    return Verdict(subject.name, "batches", outcome, "scripted", reach, runs, off, shown, words)


def _is_law_of_row(place: int, observed: Texts, expected: Texts, subject: Subject) -> bool:
    """Return whether the marginal law of one row of a batch is right."""
    laws: list[Texts] = [{}, {}]
    for law, joint in zip(laws, (observed, expected), strict=True):
        for texts, mass in joint.items():
            law[texts[place]] = law.get(texts[place], 0.0) + mass
    return distance(*laws) <= len(next(iter(expected))) * ROUNDING.get(subject.dtype, 1e-5)


def batches(subject: Subject) -> Iterator[Batch]:
    """Yield the batches to judge: of equal rows, without drafts, of different rows, and larger ones."""
    alike = even(subject)
    yield Batch([alike] * EQUAL[0], f"{EQUAL[0]} equal rows")
    yield Batch([alike], "1 row")
    for row in empty(subject):
        yield Batch([row] * EQUAL[0], f"{EQUAL[0]} rows without drafts")
        yield Batch([alike, row, alike, row, alike], "2 rows without drafts among 5")
    for row, words in zip(drawn(subject), ("reject", "keep"), strict=True):
        yield Batch([row] * 2, f"2 equal rows that {words}")
    first, second = (Row(case, inputs(subject, case)) for case in itertools.islice(standard(subject), 2))
    yield Batch([first, second], "two rows")
    accepted, rejected = certain(subject)
    yield Batch([second, rejected, first, accepted], "two rows among 4")
    for row in larger(subject):
        yield Batch([row], row.case.words.partition(": ")[0], smallest=False)
    # Many rows come last: a batch that cannot be followed ends the exact judgement.
    for count in EQUAL[1:]:
        yield Batch([alike] * count, f"{count} equal rows")


def pool(batch: Batch) -> list[Input]:
    """Return the inputs that can be drafted, row after row."""
    return [drafted_input for row in batch.rows for drafted_input in row.inputs]


def drafted(batch: Batch) -> Iterator[tuple[list[int], float]]:
    """Yield the places in the pool of what is drafted in every row, and the probability of it."""
    starts = list(itertools.accumulate((len(row.inputs) for row in batch.rows), initial=0))
    for places in itertools.product(*(range(len(row.inputs)) for row in batch.rows)):
        weights = [row.inputs[place].weight for row, place in zip(batch.rows, places, strict=True)]
        yield [start + place for start, place in zip(starts, places, strict=False)], math.prod(weights)


def law(trial: Trial, batch: Batch) -> tuple[Texts, list[tuple[Any, scripted.Path, float]]]:
    """Return the joint law of the texts of all rows, each continued by its own target; and weighted paths to them."""
    out: Texts = {}
    paths: list[tuple[Any, scripted.Path, float]] = []
    until = clock.now() + trial.budget.left() / SHARE
    cases, choices = [row.case for row in batch.rows], pool(batch)
    total = math.fsum(weight for _, weight in drafted(batch))

    # Follow every choice of drafts; each target continues its row's text to the whole length.
    for chosen, weight in drafted(batch):
        program = partial(_answers, trial, cases[0], choices, chosen)
        exact = scripted.law(program, deadline=until, keep=True, generators=trial.caller.generators)
        paths += [(program, path, weight / total * path.weight) for path in exact.paths]
        for texts, mass in exact.law.items():
            row_texts = zip(cases, texts, strict=True)
            rows = [continued(case.p, text[: case.length], case.length) for case, text in row_texts]
            for whole_texts in itertools.product(*rows):
                key = tuple(text for text, _ in whole_texts)
                chance = math.prod(chance for _, chance in whole_texts)
                out[key] = out.get(key, 0.0) + weight / total * mass * chance
    return out, paths


def _answers(trial: Trial, case: Case, choices: list[Input], chosen: list[int], random: Any) -> tuple[Any, ...]:
    """Return the texts of the rows of one call."""
    return tuple(answer.text for answer in trial.caller.batched(case, choices, chosen, random))
