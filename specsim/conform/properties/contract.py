"""Drafts are draws from the q that is returned with them, at every temperature, top-k and top-p."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from specsim.conform.cases import Case
from specsim.conform.observation import Observation
from specsim.conform.properties import parameters
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Subject
from specsim.conform.toys import Text
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("drafter",)
# The rows of q are compared after rounding to six digits.
ROUNDED = 1e-5


def cases(subject: Subject) -> Iterable[Case]:
    """Return the standard cases, and cases under sampling parameters if the drafter takes them."""
    return [*standard(subject), *parameters.cases(subject)]


def look(observation: Observation) -> Look:
    """Compare the law of the drafts with the product of the rows; without rows they must be certain.

    A drafter may stop when it likes, before it draws: where it goes on, the next draft is a draw
    from its row.
    """
    # The probability of each list of drafts, and of each beginning of one.
    observed: dict[Any, float] = {}
    expected: dict[Any, float] = {}
    reached: dict[Text, float] = {}
    for answer, mass in observation.law.items():
        observed[answer.text] = observed.get(answer.text, 0.0) + mass
        for i in range(len(answer.text) + 1):
            reached[answer.text[:i]] = reached.get(answer.text[:i], 0.0) + mass

    # P[drafts] = prod_i q_i(x_i) * prod_i P[goes on after x_1..x_i] * P[stops at the end].
    for answer in observation.law:
        if answer.q is not None:
            drawn = math.prod(row[x] for row, x in zip(answer.q, answer.text, strict=True))
            going = [1 - observed.get(answer.text[:i], 0.0) / reached[answer.text[:i]] for i in range(len(answer.text))]
            stopping = observed[answer.text] / reached[answer.text]
            expected[answer.text] = drawn * math.prod(going) * stopping
    if not expected:
        expected = {max(observed, key=lambda text: observed[text]): 1.0}
    expected["never drafted"] = max(1 - math.fsum(expected.values()), 0.0)
    return of_laws(observation._replace(rounding=max(observation.rounding, ROUNDED)), observed, expected)


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict: every draft is a draw from its row."""
    return each("contract", subject, trial, cases(subject), look)
