"""Texts verified in one call come out as if each had been verified alone, and independent of each other.

Two rows are judged exactly, by the joint law of both; then, and where that cannot be had, the frequencies over the rows
of large batches are: rows that share random numbers are further from the law than independent ones can be. Among them
are rows of other laws.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from specsim.conform import clock
from specsim.conform.calls import Broken, Input, inputs
from specsim.conform.cases import Case, standard
from specsim.conform.draws import batched
from specsim.conform.evidence import scripted
from specsim.conform.given import given
from specsim.conform.guard import OutOfTime
from specsim.conform.properties._laws import each
from specsim.conform.properties.joint import look
from specsim.conform.subject import Subject
from specsim.conform.verdict import Counterexample, Verdict
from specsim.conform.watch import ROUNDING, Watch, continued, distance

KINDS = ("step", "chain", "tree")
NEEDS = "the subject takes no batches (batch)"
SHARE = 6  # one case takes at most this part of the time that is left
Pair = dict[Any, float]


def cases(subject: Subject) -> Iterable[Case]:
    """The standard ones, observed anew."""
    return () if subject.batch is None else standard(subject)


def verdict(subject: Subject, watch: Watch) -> Verdict | None:
    """Of subjects that have a `batch`."""
    if subject.batch is None:
        return None
    try:
        found = _of_two_rows(subject, watch)
    except (scripted.NotScriptable, scripted.NotReproducible, scripted.TooLong, Broken) as reason:
        found = each("batches", subject, watch, cases(subject), look, watch.batches)
        return found._replace(words="; ".join([*filter(None, [found.words]), f"two rows are not scripted: {reason}"]))
    if found.outcome != "lossless":
        return found
    try:
        many = each("batches", subject, watch, itertools.islice(standard(subject), 1), look, watch.batches)
    except (Broken, OutOfTime) as reason:
        return found._replace(words=f"of more rows nothing is known: {reason or 'the budget ran out'}")
    reach = f"{found.reach}; many rows, {many.reach}" if many.outcome == "lossless" else found.reach
    return many if many.convicted else found._replace(reach=reach)  # runs are the exact ones


def _of_two_rows(subject: Subject, watch: Watch) -> Verdict:
    """At the smallest size; the rows have other laws, so that one in the place of another is seen."""
    before, worst = watch.runs, 0.0
    one, other = itertools.islice(standard(subject), 2)
    for cases in ((one, other), (other, one)):
        observed = law(watch, cases)
        alone = [continued(case.p, (), case.length) for case in cases]
        expected: Pair = {(x, y): a * b for (x, a), (y, b) in itertools.product(*alone)}
        worst = max(worst, distance(observed, expected))
        runs = watch.runs - before
        if worst > 2 * ROUNDING.get(subject.dtype, 1e-5):
            most = max(expected, key=lambda pair: abs(observed.get(pair, 0.0) - expected[pair]))
            words = f"{most} has probability {observed.get(most, 0):.4g}, not {expected[most]:.4g} (rows of one batch)"
            rows = [inputs(subject, case)[0] for case in cases]
            q = None if rows[0].q is None else [row.q.tolist() for row in rows if row.q is not None]
            what = f"{cases[0].words}, two rows"
            told = given(subject, cases[0], rows[0].tree)
            shown = Counterexample(what, [row.p.tolist() for row in rows], q, None, most, expected, observed, told)
            outcome: Any = "convicted" if subject.lossless else "lossy by design"
            return Verdict(subject.name, "batches", outcome, "scripted", what, runs, worst, shown, words)
    return Verdict(subject.name, "batches", "lossless", "scripted", "two rows of the smallest size", runs, worst)


def law(watch: Watch, cases: tuple[Case, Case]) -> Pair:
    """Joint law of the texts of two rows, each continued by its own target."""
    out: Pair = {}
    until, (one, other) = clock.now() + watch.left() / SHARE, cases
    given = inputs(watch.subject, one), inputs(watch.subject, other)
    both, first = [*given[0], *given[1]], len(given[0])
    batched(watch, one, both, [0, first], np.random.default_rng(watch.seed))  # one that cannot be called is broken
    for i, j in itertools.product(range(first), range(first, len(both))):
        seen = scripted.law(partial(_answers, watch, one, both, [i, j]), deadline=until).law
        for texts, mass in seen.items():
            pairs = zip(cases, texts, strict=True)
            rows = [continued(case.p, text[: case.length], case.length) for case, text in pairs]
            for (x, a), (y, b) in itertools.product(*rows):
                out[x, y] = out.get((x, y), 0.0) + both[i].weight * both[j].weight * mass * a * b
    return out


def _answers(watch: Watch, case: Case, given: list[Input], chosen: list[int], random: Any) -> tuple[Any, ...]:
    return tuple(one.text for one in batched(watch, case, given, chosen, random))
