"""The error of the museum that a convicted subject resembles.

Exhibits are run at the inputs where the subject went wrong. Two programs with one law at every
input compared cannot be told apart by what they emit: that is the strongest likeness. Where no
exhibit has the law, symptoms are compared: which draft is accepted too often or too rarely, what
replaces a rejected one, whether the bonus is right. If single calls are right, the exhibits that
fail at the same property are compared: which of them fail at the same input, and by the same
distance. Nothing else is guessed.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any

from specsim.base import clock
from specsim.conform.cases import Case
from specsim.conform.comparison import compared, is_wrong, symptoms_of
from specsim.conform.observation import Observation
from specsim.conform.observing import observe
from specsim.conform.properties import parameters
from specsim.conform.registry import EXHIBITS, find, names, subjects_of
from specsim.conform.resemblance_words import FEW, listed, summary_of
from specsim.conform.smaller import SHRUNKEN
from specsim.conform.standard_cases import standard
from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.conform.subject_call import Broken
from specsim.conform.symptoms import SMALL
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial, begin
from specsim.conform.verdict import Resemblance, Verdict

# Seconds for one call of an exhibit.
PATIENCE = 10.0
# Most inputs that are compared.
MOST_INPUTS = 10
# Inputs of so many drafts are compared even if the subject fails at fewer: at one draft many errors
# look alike.
DRAFTS_COMPARED = 2
# Properties that the law of single calls decides.
OF_SINGLE_CALLS = {"marginal", "joint", "bound", "degenerate", "parameters", "greedy", "contract"}
# The package of the properties.
PROPERTIES = "specsim.conform.properties"
# Distances of two failures that differ by less are equal.
SAME_DISTANCE = 1e-6


class Exhibits:
    """Observations of the museum's exhibits, made once for all subjects that a command judges."""

    def __init__(self) -> None:
        # Observations by exhibit, models and the rest of the case; None where it is broken.
        self._seen: dict[Any, Observation | None] = {}
        # Verdicts by exhibit and property.
        self._failures: dict[tuple[str, str], Verdict] = {}

    def observe(self, exhibit: Subject, case: Case, until: float) -> Observation | None:
        """Return the exact law of an exhibit in a case of the subject; None if it is broken there.

        Raises OutOfTime at the deadline `until`.
        """
        # Two toy models are equal if their rows are.
        models = (tuple(tuple(row) for row in model.table.values()) for model in (case.target, case.draft))
        key = (exhibit.name, *models, case[2:])
        if key not in self._seen:
            trial = begin(exhibit, deadline=until, patience=PATIENCE, delta=SMALL, seed=0)
            try:
                self._seen[key] = observe(trial, case, exact=True)
            except Broken:
                self._seen[key] = None
        return self._seen[key]

    def failure(self, name: str, property_name: str, until: float) -> Verdict | None:
        """Return the verdict of a property on an exhibit that fails at it; None without time."""
        if (name, property_name) not in self._failures:
            (exhibit,) = subjects_of(find(name))
            deadline = min(until, clock.now() + PATIENCE)
            trial = begin(exhibit, deadline=deadline, patience=PATIENCE, delta=SMALL, seed=0, shrinks=False)
            try:
                module = importlib.import_module(f"{PROPERTIES}.{property_name}")
                self._failures[name, property_name] = module.verdict(exhibit, trial)
            except OutOfTime:
                return None
        return self._failures[name, property_name]


def resemblance(trial: Trial, verdicts: Sequence[Verdict], exhibits: Exhibits) -> Resemblance | None:
    """Return the exhibits that a convicted subject resembles, and how; None if none convicts it."""
    subject, until = trial.subject, trial.budget.deadline

    # The inputs where it is wrong; if single calls are right, its property is compared.
    convicted = [verdict for verdict in verdicts if verdict.convicted]
    if not convicted:
        return None
    probes = _probes(trial)
    if not probes:
        return _of_property(convicted[0], exhibits, until)

    def observe_exhibit(exhibit: Subject, case: Case) -> Observation | None:
        """Return the exact law of an exhibit in a case, within the time of the judgement."""
        return exhibits.observe(exhibit, case, until)

    # Names of the exhibits by what they share with the subject there; "late": there was no time.
    by_likeness: dict[str, list[str]] = {"law": [], "first": [], "symptoms": [], "late": [], "": []}
    for name in names(EXHIBITS):
        (exhibit,) = subjects_of(find(name))
        try:
            by_likeness[compared(subject, exhibit, probes, observe_exhibit)].append(name)
        except OutOfTime:
            by_likeness["late"].append(name)

    # Put it into words.
    nearest = {how: _of_its_kind(subject, alike) for how, alike in by_likeness.items()}
    summary = summary_of(nearest, probes, symptoms_of(subject, _shown(subject, probes, convicted)))
    late = ""
    if by_likeness["late"]:
        late = f" There was no time for {len(by_likeness['late'])} exhibits."
    return summary._replace(words=summary.words + late)


def _shown(subject: Subject, probes: list[Observation], convicted: list[Verdict]) -> Observation:
    """Return the probe of the report's first counterexample, or else the first wrong probe."""
    counterexamples = filter(None, (verdict.counterexample for verdict in convicted))
    shown = [counterexample.case for counterexample in counterexamples][:1]
    wrong = [probe for probe in probes if is_wrong(subject, probe)]
    return next((probe for probe in wrong if probe.case.words in shown), wrong[0])


def _of_its_kind(subject: Subject, exhibit_names: list[str]) -> list[str]:
    """Return the exhibits that are called as the subject is; all of them if none is."""

    def is_called_alike(exhibit: Subject) -> bool:
        """Return whether an exhibit is called as the subject is."""
        return exhibit.kind == subject.kind and exhibit.takes_q == subject.takes_q

    alike = []
    for name in exhibit_names:
        (exhibit,) = subjects_of(find(name))
        if is_called_alike(exhibit):
            alike.append(name)
    return alike or exhibit_names


def _of_property(verdict: Verdict, exhibits: Exhibits, until: float) -> Resemblance:
    """Return the exhibits that fail at the property of a verdict, the most similar failures alone.

    It is for a subject whose single calls are right, or were not observed. Two failures are the
    same if they occur at one input (`reach`) and have one distance.
    """
    name = verdict.property
    failing = [exhibit for exhibit in names(EXHIBITS) if name == find(exhibit).PROPERTY]
    if not failing:
        return Resemblance((), "nothing", f"No exhibit of the museum fails at {name} alone.")

    # Judge these exhibits by the property. One that single calls decide is left out: their laws
    # were compared before.
    failures: list[tuple[str, Verdict]] = []
    if name not in OF_SINGLE_CALLS:
        judged = [(exhibit, exhibits.failure(exhibit, name, until)) for exhibit in failing]
        failures = [(exhibit, failure) for exhibit, failure in judged if failure is not None]

    # Exhibits that fail at the same input, and among them those with the same distance.
    same_input = [(exhibit, failure) for exhibit, failure in failures if failure.reach == verdict.reach]
    same_failure = [
        exhibit for exhibit, failure in same_input if abs(failure.distance - verdict.distance) < SAME_DISTANCE
    ]
    if same_failure:
        museum = f"{listed(same_failure)} of the museum"
        words = f"It fails at {name} as {museum} does, at the same input and as far."
        return Resemblance(tuple(same_failure), "property", words)

    # Otherwise those that fail at the same input, or else all that fail at the property.
    failing = [exhibit for exhibit, _ in same_input] or failing
    who = listed(failing) if len(failing) <= FEW else f"{len(failing)} exhibits"
    verb = "fails" if len(failing) == 1 else "fail"
    words = f"{who} of the museum {verb} at {name}, too; laws were not compared."
    return Resemblance(tuple(failing), "property", words)


def _probes(trial: Trial) -> list[Observation]:
    """Return the observations of the subject to compare exhibits at, those of fewest drafts first.

    Half of at most MOST_INPUTS are such at which the subject is wrong. The list is empty if it is
    wrong at none.
    """
    subject = trial.subject
    observed = trial.findings.seen.values()
    probes = [probe for probe in observed if not (_is_shrunken(probe.case) or probe.case.exact_only)]

    # The fewest drafts at which the subject is wrong, and whether it is wrong without sampling
    # parameters.
    wrong = [probe for probe in probes if is_wrong(subject, probe)]
    if not wrong:
        return []
    fewest = min(_num_drafts(probe) for probe in wrong)
    is_plain = any(probe.case.sampling_params == UNCHANGED for probe in wrong)
    most_drafts = max(fewest, DRAFTS_COMPARED) if is_plain else fewest

    # Observe more cases with no more drafts than that.
    candidates = _more_cases(subject, warped=not is_plain)
    cases = (case for case in candidates if not case.exact_only and len(case.parents) <= most_drafts)
    probes += filter(None, (_exact_law(trial, case) for case in cases))

    # The smallest inputs, half of them such where it is wrong. `observe` returns the same object
    # for a case that it knows.
    small = {id(probe): probe for probe in probes if _num_drafts(probe) <= most_drafts}
    order = sorted(small.values(), key=_num_drafts)
    half = MOST_INPUTS // 2
    wrong = [probe for probe in order if is_wrong(subject, probe)][:half]
    right = [probe for probe in order if not is_wrong(subject, probe)][:half]
    return sorted(wrong + right, key=_num_drafts)


def _num_drafts(observation: Observation) -> int:
    """Return the number of drafts of an observed case."""
    return len(observation.case.parents)


def _is_shrunken(case: Case) -> bool:
    """Return whether a case is one that a counterexample was shrunk to."""
    return not case.target.depth and ": " not in case.words and case.target.vocab <= SHRUNKEN


def _exact_law(trial: Trial, case: Case) -> Observation | None:
    """Return the exact law of the subject in a case, None if it cannot be had."""
    try:
        return observe(trial, case, exact=True)
    except (OutOfTime, Broken):
        return None


def _more_cases(subject: Subject, *, warped: bool) -> Iterator[Case]:
    """Yield the standard cases; if `warped`, also one of each shape for all sampling parameters."""
    yield from standard(subject)
    first: dict[object, Case] = {}
    if warped and subject.warps:
        greedy = standard(subject, SamplingParams(temperature=0.0), "temperature 0")
        for case in (*parameters.cases(subject), *greedy):
            first.setdefault((case.parents, case.words), case)
    yield from first.values()
