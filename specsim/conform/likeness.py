"""Which error of the museum a convicted subject resembles: exhibits are run at the inputs where it went wrong.

Two programs with one law at every input compared cannot be told apart by what they emit: that is
the strongest thing said. Where no exhibit has the law, symptoms are compared: which draft is kept
too often or too rarely, what replaces a rejected one, whether the bonus is right. A failure that no
single call shows is put beside the exhibits of its property that go wrong at the same input, and as
far. Nothing else is guessed.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from specsim.base import clock
from specsim.conform.cases import Case
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import Observation, distance
from specsim.conform.observing import observe
from specsim.conform.properties import contract, parameters
from specsim.conform.registry import EXHIBITS, find, names, subjects_of
from specsim.conform.resemblance_words import FEW, listed, summary_of
from specsim.conform.smaller import SHRUNKEN
from specsim.conform.standard_cases import standard
from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.conform.subject_call import Broken
from specsim.conform.symptoms import SMALL, symptoms
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial, begin
from specsim.conform.verdict import Resemblance, Verdict

# Seconds for one call of an exhibit.
PATIENCE = 10.0
# Most inputs that are compared.
MOST = 10
# Drafts of an input at most: with one of them many errors look alike.
TWO = 2
# Properties that the law of single calls decides.
OF_SINGLE_CALLS = {"marginal", "joint", "bound", "degenerate", "parameters", "greedy", "contract"}
# Schemes that draw a single draft from q.
ONE_BY_ONE = {"iid", "without_replacement", "paths"}
# The package of the properties.
HERE = "specsim.conform.properties"
# Total variations that differ by less are equal.
AS_FAR = 1e-6


class Exhibits:
    """Observations of the museum's exhibits, which are the same in every judgement; they last for one command."""

    def __init__(self) -> None:
        # By the exhibit and what its case says; None where it does nothing sensible.
        self._seen: dict[Any, Observation | None] = {}
        # By the exhibit and the property.
        self._failures: dict[tuple[str, str], Verdict] = {}

    def observe(self, exhibit: Subject, case: Case, until: float) -> Observation | None:
        """Return what an exhibit does in a case, perhaps of another kind; None if nothing sensible. OutOfTime."""
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
        """Return what an exhibit is convicted of by a property; None without time for it."""
        if (name, property_name) not in self._failures:
            (exhibit,) = subjects_of(find(name))
            until = min(until, clock.now() + PATIENCE)
            trial = begin(exhibit, deadline=until, patience=PATIENCE, delta=SMALL, seed=0, shrinks=False)
            try:
                module = importlib.import_module(f"{HERE}.{property_name}")
                self._failures[name, property_name] = module.verdict(exhibit, trial)
            except OutOfTime:
                return None
        return self._failures[name, property_name]


def resemblance(trial: Trial, verdicts: Sequence[Verdict], exhibits: Exhibits) -> Resemblance | None:
    """Return the exhibits that a convicted subject resembles, and in what; None if it is not convicted."""
    subject, until = trial.subject, trial.budget.deadline

    # Where is it wrong?
    convicted = [verdict for verdict in verdicts if verdict.convicted]
    if not convicted:
        return None
    probes = _probes(trial)
    if not probes:
        return _of_property(convicted[0], exhibits, until)

    # How does each exhibit compare there?
    by_likeness: dict[str, list[str]] = {"law": [], "first": [], "symptoms": [], "late": [], "": []}
    for name in names(EXHIBITS):
        (exhibit,) = subjects_of(find(name))
        try:
            by_likeness[_compared(subject, exhibit, probes, exhibits, until)].append(name)
        except OutOfTime:
            by_likeness["late"].append(name)

    # Say it.
    nearest = {how: _of_its_kind(subject, some) for how, some in by_likeness.items()}
    summary = summary_of(nearest, probes, _symptoms(subject, _shown(subject, probes, convicted)))
    late = f" There was no time for {len(by_likeness['late'])} exhibits." if by_likeness["late"] else ""
    return summary._replace(words=summary.words + late)


def _shown(subject: Subject, probes: list[Observation], convicted: list[Verdict]) -> Observation:
    """Return what was seen where the report shows a counterexample; elsewhere, if that was not compared."""
    shown = [verdict.counterexample.case for verdict in convicted if verdict.counterexample is not None]
    wrong = [probe for probe in probes if _wrong(subject, probe)]
    return next((probe for probe in wrong if probe.case.words in shown[:1]), wrong[0])


def _of_its_kind(subject: Subject, some: list[str]) -> list[str]:
    """Return those exhibits that are used as the subject is; all of them if none is."""

    def like(exhibit: Subject) -> bool:
        """Return whether an exhibit is called as the subject is."""
        return exhibit.kind == subject.kind and exhibit.takes_q == subject.takes_q

    return [name for name in some if like(subjects_of(find(name))[0])] or some


def _of_property(verdict: Verdict, exhibits: Exhibits, until: float) -> Resemblance:
    """Return the resemblance where the law of single calls is right, or was not observed."""
    name = verdict.property
    failing = [exhibit for exhibit in names(EXHIBITS) if name == find(exhibit).PROPERTY]
    if not failing:
        return Resemblance((), "nothing", f"No exhibit of the museum fails at {name} alone.")
    # Exhibits that fail at the same input, and as far; laws of single calls were compared before.
    alike = []
    if name not in OF_SINGLE_CALLS:
        alike = [(exhibit, exhibits.failure(exhibit, name, until)) for exhibit in failing]
    there = [(exhibit, failure) for exhibit, failure in alike if failure is not None and failure.reach == verdict.reach]
    near = [exhibit for exhibit, failure in there if abs(failure.distance - verdict.distance) < AS_FAR]
    if near:
        words = f"It fails at {name} as {listed(near)} of the museum does, at the same input and as far."
        return Resemblance(tuple(near), "property", words)

    # Otherwise, all that fail at the property.
    failing = [exhibit for exhibit, _ in there] or failing
    who = f"{listed(failing)} of the museum" if len(failing) <= FEW else f"{len(failing)} exhibits of the museum"
    words = f"{who} {'fails' if len(failing) == 1 else 'fail'} at {name}, too; laws were not compared."
    return Resemblance(tuple(failing), "property", words)


def _probes(trial: Trial) -> list[Observation]:
    """Return what was seen of the subject, up to two drafts; few, which tell many exhibits apart, come first."""
    subject = trial.subject
    seen = [probe for probe in trial.findings.seen.values() if not (_shrunken(probe.case) or probe.case.exact_only)]
    # Where is the subject wrong, and with how many drafts?
    wrong = [probe for probe in seen if _wrong(subject, probe)]
    if not wrong:
        return []
    size = min(len(probe.case.parents) for probe in wrong)
    plain = any(probe.case.sampling_params == UNCHANGED for probe in wrong)
    most = max(size, TWO) if plain else size
    # More cases of that size; two drafts tell exhibits apart that one does not.
    more = (case for case in _more(subject, warped=not plain) if not case.exact_only)
    cases = (case for case in more if len(case.parents) <= most)
    seen += filter(None, (_again(trial, case) for case in cases))
    # The smallest inputs, half of them such where it is wrong.
    near = {id(probe): probe for probe in seen if len(probe.case.parents) <= most}
    order = sorted(near.values(), key=lambda probe: len(probe.case.parents))
    halves = [[probe for probe in order if _wrong(subject, probe) is how][: MOST // 2] for how in (True, False)]
    return sorted(halves[0] + halves[1], key=lambda probe: len(probe.case.parents))


def _shrunken(case: Case) -> bool:
    """Return whether a case is one that a counterexample was shrunk to."""
    return not case.target.depth and ": " not in case.words and case.target.vocab <= SHRUNKEN


def _again(trial: Trial, case: Case) -> Observation | None:
    """Return the exact law of the subject in a case, None if it cannot be had."""
    try:
        return observe(trial, case, exact=True)
    except (OutOfTime, Broken):
        return None


def _more(subject: Subject, *, warped: bool) -> Iterator[Case]:
    """Yield the standard cases; where parameters matter, one of every shape under each of them."""
    yield from standard(subject)
    first: dict[object, Case] = {}
    if warped and subject.warps:
        greedy = standard(subject, SamplingParams(temperature=0.0), "temperature 0")
        for case in (*parameters.cases(subject), *greedy):
            first.setdefault((case.parents, case.words), case)
    yield from first.values()


def _wrong(subject: Subject, seen: Observation, length: int = 0, like: Observation | None = None) -> bool:
    """Return whether the law (of so many tokens) is wrong, as far as an observation such as `like` shows."""
    if subject.kind == "drafter":
        look = contract.look(seen)
        return look.distance > look.allowed
    goal = seen.goal(length or seen.case.length)
    return distance(seen.joint(length or seen.case.length), goal) > _tolerance(like or seen, goal)


def _tolerance(seen: Observation, law: dict[Any, float]) -> float:
    """Return the distance from a law that chance or rounding explains in an observation."""
    if seen.evidence == "Monte Carlo":
        return montecarlo.allowed(list(law.values()), seen.runs, seen.delta)
    return max(seen.rounding, SMALL)


def _compared(
    subject: Subject, exhibit: Subject, probes: list[Observation], exhibits: Exhibits, until: float
) -> Literal["law", "first", "symptoms", ""]:
    """Return how an exhibit resembles the subject: by its law, by that of the first token, by symptoms, or not.

    They must agree at every comparable input, including one where the subject is wrong.
    """
    same_law, alike, explained, longest = True, True, False, False

    # An exhibit that is right where the subject is wrong explains nothing.
    for probe in probes:
        length = _length(subject, exhibit, probe.case)
        seen = exhibits.observe(exhibit, probe.case, until) if length else None
        if seen is None:
            continue
        subject_law, exhibit_law = _law(subject, probe, length), _law(subject, seen, length)
        same_law = same_law and distance(subject_law, exhibit_law) <= _tolerance(probe, exhibit_law)
        symptoms_here = _symptoms(subject, probe)
        same_symptoms = symptoms_here is not None and symptoms_here == _symptoms(exhibit, seen)
        alike = alike and same_symptoms and _way(subject) == _way(exhibit)
        if not same_law and not alike:
            return ""
        if _wrong(subject, probe, length):
            if not _wrong(subject, seen, length, probe):
                return ""
            explained, longest = True, longest or length == probe.case.length
    if not explained:
        return ""
    if not same_law:
        return "symptoms"
    return "law" if longest else "first"


def _symptoms(subject: Subject, seen: Observation) -> tuple[str, ...] | None:
    """Return the symptoms of an observation; None of a text, in which it is not known which tokens are drafts."""
    way = _way(subject)
    return symptoms(seen, is_step=way == "step") if way in ("block", "step") else None


def _law(subject: Subject, seen: Observation, length: int) -> dict[Any, float]:
    """Return the law that is compared: of a drafter with its rows, of others of the first `length` tokens."""
    if subject.kind == "drafter":
        return {(answer.text, answer.q): mass for answer, mass in seen.law.items()}
    return dict(seen.joint(length))


def _way(subject: Subject) -> str:
    """Return what the answers of a subject mean; of a step it is not known which token was accepted."""
    if subject.kind == "decoder":
        return "block" if subject.block else "text"
    return {"chain": "block", "tree": "block"}.get(subject.kind, subject.kind)


def _length(subject: Subject, exhibit: Subject, case: Case) -> int:
    """Return the tokens of the joint law in which the two can be compared at a case; 0 if they cannot."""
    if case.mask is not None and not exhibit.masks:
        return 0
    if (case.limit, case.end) != (None, None) and exhibit.stops != subject.stops:
        return 0
    line, siblings = case.parents == tuple(range(-1, len(case.parents) - 1)), set(case.parents) == {-1}
    if "drafter" in (subject.kind, exhibit.kind):
        return case.length if subject.kind == exhibit.kind else 0
    # Drafts come from a law that the exhibit is not made for, or the exhibit makes its own drafts.
    if (not exhibit.takes_q and subject.takes_q) or (exhibit.kind == "decoder" and subject.kind != "decoder"):
        return 0
    if not {"step": siblings, "tree": True}.get(exhibit.kind, line):
        return 0
    drawn = {subject.scheme, exhibit.scheme}
    if len(drawn) > 1 and not (line and drawn <= ONE_BY_ONE):
        return 0
    return case.length if (_way(subject) == "text") == (_way(exhibit) == "text") else 1
