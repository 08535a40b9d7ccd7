"""At temperature 0 the text is the target's own likeliest; a near tie that rounding decides is told from an error."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from specsim.conform import libraries
from specsim.conform.cases import Case, logits
from specsim.conform.near_ties import Difference, first_difference
from specsim.conform.observation import Observation
from specsim.conform.properties._laws import Look, each, of_laws
from specsim.conform.standard_cases import standard
from specsim.conform.subject import Model, SamplingParams, Subject
from specsim.conform.toys import Text
from specsim.conform.trial import Trial
from specsim.conform.verdict import Verdict

KINDS = ("step", "chain", "tree", "decoder")
NEEDS = "the subject takes no sampling parameters (warps=True)"


def cases(subject: Subject) -> Iterable[Case]:
    """Return the standard cases at temperature 0."""
    return standard(subject, SamplingParams(temperature=0.0), "temperature 0") if subject.warps else ()


def verdict(subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict on a subject that takes a temperature; the first of equals is the likeliest."""
    if not subject.warps:
        return None

    # Texts other than the likeliest one are sorted into near ties and errors.
    ties: list[Difference] = []
    errors: list[Difference] = []

    def look(observation: Observation) -> Look:
        """Compare the texts with the likeliest one; a text that near ties lead to counts as the likeliest."""
        whole = observation.case.length
        observed, goal = observation.joint(whole), observation.goal(whole)
        (plain,) = goal
        for text in sorted(observed.keys() - goal.keys()):
            difference = first_difference(
                plain, text, *_paths(subject, observation.case), prompt=observation.case.prompt
            )
            if difference is None or not difference.near:
                errors.extend([difference] if difference else [])
                continue
            ties.append(difference)
            observed[plain] = observed.get(plain, 0.0) + observed.pop(text)
        return of_laws(observation, observed, goal)

    result = each("greedy", subject, trial, cases(subject), look)
    if result.counterexample is not None and errors:
        return result._replace(words=f"{result.words}; {errors[-1]}")
    if ties and result.outcome == "lossless":
        words = "; ".join([str(ties[0]), *filter(None, [result.words])])
        return result._replace(outcome="inconclusive", words=words)
    return result


def _paths(subject: Subject, case: Case) -> tuple[Callable[[Text], Any], Callable[[Text], Any]]:
    """Return two functions of a text: its logits as the subject decodes, and as it verifies them."""
    paths = subject.paths
    if paths is not None:
        target = Model(case.target.law, case.target.vocab)
        return lambda text: paths(target, text)[0], lambda text: paths(target, text)[1]

    def rounded(text: Text) -> Any:
        """Return the target's logits after a text, as the subject's type rounds them."""
        law = np.asarray(libraries.plain(libraries.array(subject, case.target.law(text))), dtype=np.float64)
        return law if subject.logits else logits(law)

    return lambda text: logits(case.target.law(text)), rounded
