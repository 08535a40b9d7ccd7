"""Texts verified in one call come out as if each had been verified alone, and independent of each other.

Two rows are judged exactly, by the joint law of both; where that cannot be had, the frequencies over all rows of large
batches are: rows that share random numbers are further from the law than independent ones can be.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from functools import partial
from typing import Any

import numpy as np

from specsim.conform.calls import Broken, Input, inputs
from specsim.conform.cases import Case, standard
from specsim.conform.draws import batched
from specsim.conform.evidence import scripted
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
        return _of_two_rows(subject, watch)
    except (scripted.NotScriptable, scripted.NotReproducible, scripted.TooLong, Broken) as reason:
        found = each("batches", subject, watch, cases(subject), look, watch.batches)
        return found._replace(words="; ".join([*filter(None, [found.words]), f"two rows are not scripted: {reason}"]))


def _of_two_rows(subject: Subject, watch: Watch) -> Verdict:
    """At the smallest size."""
    before, worst = watch.runs, 0.0
    for case in itertools.islice(standard(subject), 2):
        given = inputs(subject, case)
        observed = law(watch, case, given)
        alone = continued(case.p, (), case.length)
        expected: Pair = {(one, other): a * b for (one, a), (other, b) in itertools.product(alone, alone)}
        worst = max(worst, distance(observed, expected))
        runs = watch.runs - before
        if worst > 2 * ROUNDING.get(subject.dtype, 1e-5):
            most = max(expected, key=lambda pair: abs(observed.get(pair, 0.0) - expected[pair]))
            words = f"{most} has probability {observed.get(most, 0):.4g}, not {expected[most]:.4g} (rows of one batch)"
            p, q = given[0].p.tolist(), None if given[0].q is None else given[0].q.tolist()
            shown = Counterexample(f"{case.words}, two rows", p, q, None, most, expected, observed)
            outcome: Any = "convicted" if subject.lossless else "lossy by design"
            return Verdict(subject.name, "batches", outcome, "scripted", case.words, runs, worst, shown, words)
    return Verdict(subject.name, "batches", "lossless", "scripted", "two rows of the smallest size", runs, worst)


def law(watch: Watch, case: Case, given: list[Input]) -> Pair:
    """Joint law of the texts of two rows, each continued by the target."""
    out: Pair = {}
    until = time.monotonic() + watch.left() / SHARE
    batched(watch, case, given, [0, 0], np.random.default_rng(watch.seed))  # one that cannot be called is broken
    for i, j in itertools.product(range(len(given)), repeat=2):
        seen = scripted.law(partial(_answers, watch, case, given, [i, j]), deadline=until).law
        for texts, mass in seen.items():
            rows = [continued(case.p, text[: case.length], case.length) for text in texts]
            for (one, a), (other, b) in itertools.product(*rows):
                weight = given[i].weight * given[j].weight * mass * a * b
                out[one, other] = out.get((one, other), 0.0) + weight
    return out


def _answers(watch: Watch, case: Case, given: list[Input], chosen: list[int], random: Any) -> tuple[Any, ...]:
    return tuple(one.text for one in batched(watch, case, given, chosen, random))
