"""Which error of the museum a convicted subject resembles: exhibits are run at the inputs where it went wrong.

Two programs with one law at every input compared cannot be told apart by what they emit: that is the strongest thing
said. Where no exhibit has the law, symptoms are compared: which draft is kept too often or too rarely, what replaces a
rejected one, whether the bonus is right. A failure that no single call shows is put beside the exhibits of its property
that go wrong at the same input, and as far. Nothing else is guessed.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from specsim.base import clock
from specsim.conform.cases import Case, standard
from specsim.conform.evidence import montecarlo
from specsim.conform.observation import Observation, distance
from specsim.conform.observing import observe
from specsim.conform.properties import contract, parameters
from specsim.conform.registry import EXHIBITS, find, names, subjects_of
from specsim.conform.smaller import SHRUNKEN
from specsim.conform.subject import UNCHANGED, SamplingParams, Subject
from specsim.conform.subject_call import Broken
from specsim.conform.symptoms import SMALL, symptoms
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial, begin
from specsim.conform.verdict import Resemblance, Verdict

# Seconds for one call of an exhibit.
PATIENCE = 10.0
# Inputs compared.
MOST = 10
# Drafts of an input at most: with one of them many errors look alike.
TWO = 2
# Exhibits named; symptoms that more of them have say nothing.
FEW = 4
OF_SINGLE_CALLS = {"marginal", "joint", "bound", "degenerate", "parameters", "greedy", "contract"}
# Schemes that draw a single draft from q.
ONE_BY_ONE = {"iid", "without_replacement", "paths"}
HERE = "specsim.conform.properties"
# Total variations that differ by less are equal.
AS_FAR = 1e-6


class Exhibits:
    """What was seen of the museum's exhibits, which are the same in every judgement; it lives for one command."""

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

    def failure(self, name: str, asked: str, until: float) -> Verdict | None:
        """Return what an exhibit is convicted of by a property; None without time for it."""
        if (name, asked) not in self._failures:
            (exhibit,) = subjects_of(find(name))
            until = min(until, clock.now() + PATIENCE)
            trial = begin(exhibit, deadline=until, patience=PATIENCE, delta=SMALL, seed=0, shrinks=False)
            try:
                self._failures[name, asked] = importlib.import_module(f"{HERE}.{asked}").verdict(exhibit, trial)
            except OutOfTime:
                return None
        return self._failures[name, asked]


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
    found: dict[str, list[str]] = {"law": [], "first": [], "symptoms": [], "late": [], "": []}
    for name in names(EXHIBITS):
        (exhibit,) = subjects_of(find(name))
        try:
            found[_compared(subject, exhibit, probes, exhibits, until)].append(name)
        except OutOfTime:
            found["late"].append(name)

    # Say it.
    nearest = {how: _of_its_kind(subject, some) for how, some in found.items()}
    said = _said(nearest, probes, _symptoms(subject, _shown(subject, probes, convicted)))
    late = f" There was no time for {len(found['late'])} exhibits." if found["late"] else ""
    return said._replace(words=said.words + late)


def _shown(subject: Subject, probes: list[Observation], convicted: list[Verdict]) -> Observation:
    """Return what was seen where the report shows a counterexample; elsewhere, if that was not compared."""
    shown = [verdict.counterexample.case for verdict in convicted if verdict.counterexample is not None]
    wrong = [one for one in probes if _wrong(subject, one)]
    return next((one for one in wrong if one.case.words in shown[:1]), wrong[0])


def _of_its_kind(subject: Subject, some: list[str]) -> list[str]:
    """Return those exhibits that are used as the subject is; all of them if none is."""

    def like(exhibit: Subject) -> bool:
        return exhibit.kind == subject.kind and exhibit.takes_q == subject.takes_q

    return [name for name in some if like(subjects_of(find(name))[0])] or some


def _said(found: dict[str, list[str]], probes: list[Observation], shown: tuple[str, ...] | None) -> Resemblance:
    same, alike = found["law"] or found["first"], found["symptoms"]
    law = "the law" if found["law"] else "the first token's law"
    where = f"at all {len(probes)} inputs compared" if len(probes) > 1 else "at the input compared"
    details = f": {'; '.join(shown)}" if shown else ""
    if len(same) == 1:
        words = f"It has {law} of `{same[0]}` of the museum {where}: {find(same[0]).WRONG}"
        return Resemblance(tuple(same), "law", words)
    if same:
        words = f"It has {law} of {_listed(same)} of the museum, which are alike {where}."
        return Resemblance(tuple(same), "law", words)
    if 0 < len(alike) <= FEW:
        words = f"It resembles {_listed(alike)} of the museum in its symptoms, not in its law{details}."
        return Resemblance(tuple(alike), "symptoms", words)
    return Resemblance((), "nothing", f"It resembles no exhibit of the museum{details}.")


def _listed(some: list[str]) -> str:
    quoted = [f"`{name}`" for name in some]
    return " or ".join([", ".join(quoted[:-1]), quoted[-1]] if len(quoted) > 1 else quoted)


def _of_property(verdict: Verdict, exhibits: Exhibits, until: float) -> Resemblance:
    """Return the resemblance where the law of single calls is right, or was not observed."""
    name = verdict.property
    some = [one for one in names(EXHIBITS) if name == find(one).PROPERTY]
    if not some:
        return Resemblance((), "nothing", f"No exhibit of the museum fails at {name} alone.")
    alike = [(one, exhibits.failure(one, name, until)) for one in some] if name not in OF_SINGLE_CALLS else []
    there = [(one, found) for one, found in alike if found is not None and found.reach == verdict.reach]
    near = [one for one, found in there if abs(found.distance - verdict.distance) < AS_FAR]
    if near:
        words = f"It fails at {name} as {_listed(near)} of the museum does, at the same input and as far."
        return Resemblance(tuple(near), "property", words)
    some = [one for one, _ in there] or some
    who = f"{_listed(some)} of the museum" if len(some) <= FEW else f"{len(some)} exhibits of the museum"
    words = f"{who} {'fails' if len(some) == 1 else 'fail'} at {name}, too; laws were not compared."
    return Resemblance(tuple(some), "property", words)


def _probes(trial: Trial) -> list[Observation]:
    """Return what was seen of the subject, up to two drafts; few, which tell many exhibits apart, come first."""
    subject = trial.subject
    seen = [one for one in trial.findings.seen.values() if not (_shrunken(one.case) or one.case.exact_only)]
    wrong = [one for one in seen if _wrong(subject, one)]
    if not wrong:
        return []
    size = min(len(one.case.parents) for one in wrong)
    plain = any(one.case.sampling_params == UNCHANGED for one in wrong)
    most = max(size, TWO) if plain else size
    more = (case for case in _more(subject, warped=not plain) if not case.exact_only)
    cases = (case for case in more if len(case.parents) <= most)
    seen += filter(None, (_again(trial, case) for case in cases))
    near = {id(one): one for one in seen if len(one.case.parents) <= most}
    order = sorted(near.values(), key=lambda one: len(one.case.parents))
    halves = [[one for one in order if _wrong(subject, one) is how][: MOST // 2] for how in (True, False)]
    return sorted(halves[0] + halves[1], key=lambda one: len(one.case.parents))


def _shrunken(case: Case) -> bool:
    return not case.target.depth and ": " not in case.words and case.target.vocab <= SHRUNKEN


def _again(trial: Trial, case: Case) -> Observation | None:
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
        found = contract.look(seen)
        return found.distance > found.allowed
    goal = seen.goal(length or seen.case.length)
    return distance(seen.joint(length or seen.case.length), goal) > _tolerance(like or seen, goal)


def _tolerance(seen: Observation, law: dict[Any, float]) -> float:
    if seen.evidence == "Monte Carlo":
        return montecarlo.allowed(list(law.values()), seen.runs, seen.delta)
    return max(seen.rounding, SMALL)


def _compared(
    subject: Subject, exhibit: Subject, probes: list[Observation], exhibits: Exhibits, until: float
) -> Literal["law", "first", "symptoms", ""]:
    """Return how an exhibit resembles the subject: by its law, by that of the first token, by symptoms, or not.

    They must agree at every comparable input, including one where the subject is wrong.
    """
    law, alike, explained, longest = True, True, False, False
    for mine in probes:
        length = _length(subject, exhibit, mine.case)
        theirs = exhibits.observe(exhibit, mine.case, until) if length else None
        if theirs is None:
            continue
        one, other = _law(subject, mine, length), _law(subject, theirs, length)
        law = law and distance(one, other) <= _tolerance(mine, other)
        said = _symptoms(subject, mine)
        alike = alike and said is not None and said == _symptoms(exhibit, theirs) and _way(subject) == _way(exhibit)
        if not law and not alike:
            return ""
        if _wrong(subject, mine, length):
            if not _wrong(subject, theirs, length, mine):
                return ""
            explained, longest = True, longest or length == mine.case.length
    if not explained:
        return ""
    if not law:
        return "symptoms"
    return "law" if longest else "first"


def _symptoms(subject: Subject, seen: Observation) -> tuple[str, ...] | None:
    """Return the symptoms of an observation; None of a text, in which it is not known which tokens are drafts."""
    way = _way(subject)
    return symptoms(seen, is_step=way == "step") if way in ("block", "step") else None


def _law(subject: Subject, seen: Observation, length: int) -> dict[Any, float]:
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
    if (not exhibit.takes_q and subject.takes_q) or (exhibit.kind == "decoder" and subject.kind != "decoder"):
        return 0  # drafts come from a law that it is not made for, or are none of its own
    if not {"step": siblings, "tree": True}.get(exhibit.kind, line):
        return 0
    drawn = {subject.scheme, exhibit.scheme}
    if len(drawn) > 1 and not (line and drawn <= ONE_BY_ONE):
        return 0
    return case.length if (_way(subject) == "text") == (_way(exhibit) == "text") else 1
