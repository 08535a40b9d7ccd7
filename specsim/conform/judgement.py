"""Every property of a subject, one after the other, within a budget."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Sequence

from specsim.base import check, clock, recording
from specsim.base.unknown import unknown
from specsim.conform import declared, libraries
from specsim.conform.argument_words import input_shown
from specsim.conform.cases import Case
from specsim.conform.likeness import Exhibits, resemblance
from specsim.conform.registry import NOTE, SEVERAL, names
from specsim.conform.sources import since
from specsim.conform.subject import KINDS, Subject
from specsim.conform.subject_call import Broken
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial, begin
from specsim.conform.verdict import ALL, LARGER, Report, Verdict

PROPERTIES = "specsim.conform.properties"
# The properties that tell the most, in order; the others follow by name.
FIRST = ("vacuity", "marginal", "joint", "bound")
# The property that is asked last, and only if nothing convicted before: it looks for errors that
# the others cannot see.
LAST = "larger"
# The properties that are asked of a subject with models of its own: the others have models that it
# does not run.
OF_OWN_MODELS = ("marginal", "joint")
DECIDED = ("convicted", "lossy by design", "broken")
# Fraction of the budget for the call that is under way when it ends.
GRACE = 0.1
# Seconds of the processor that one call may use before it is called broken; the first one may use
# the whole budget.
PATIENCE = 10.0
# Seconds of the longest budget.
LONGEST = 1e6
# Fraction of the budget that must be left to look again at undecided properties.
AGAIN = 0.1


def judge(
    subject: Subject,
    *,
    budget: float = 60.0,
    properties: Sequence[str] | None = None,
    false_alarm: float = 1e-6,
    seed: int = 0,
    patience: float = PATIENCE,
    say: Callable[[Verdict], None] | None = None,
    exhibits: Exhibits | None = None,
) -> Report:
    """Judge a subject: a verdict for every property, whatever it does.

    An interruption (Ctrl-C) ends the judgement; what was said before is the report, which is not
    complete.

    Parameters
    ----------
    subject : Subject
        What is judged.
    budget : float
        Seconds, positive; kept within 20 %. Those in which the machine gave this process no processor do not count.
    properties : sequence of str, optional
        Names of the files in `specsim.conform.properties`; all that concern the subject if not given.
    false_alarm : float
        Probability, in (0, 1), that a correct subject is convicted of anything in this report.
    seed : int
        Of Monte Carlo, at least 0.
    patience : float
        Seconds of the processor after which a call is broken, positive; the first call may use the whole budget.
        A call that the budget ends before is *inconclusive*.
    say : callable, optional
        Called with every verdict as it is reached.
    exhibits : Exhibits, optional
        What earlier judgements saw of the museum's exhibits: pass one `Exhibits()` to all of them, and it is seen once.

    Returns
    -------
    Report
        One verdict a property.

    Raises
    ------
    ValueError
        An argument is out of range, a property is unknown, or the subject declares what cannot be.
    TypeError
        An argument, or a field of the subject, is of another type.

    References
    ----------
    Leviathan et al. 2023, arXiv:2211.17192 (what lossless means).

    Examples
    --------
    >>> from specsim.conform import Subject, judge
    >>> def hopeful(p, q, drafts, random):
    ...     return int(drafts[0])  # whatever the target says
    >>> report = judge(Subject("hopeful", "step", hopeful, sizes=(1,)), properties=["marginal"])
    >>> report.outcome, report.verdicts[0].evidence
    ('convicted', 'scripted')
    >>> print(report.verdicts[0].words)
    (0,) has probability 0.3333, not 0.5 (V=2, 1 draft)
    """
    seconds, wanted = validated(subject, budget, properties)
    delta = float(check.scalar(false_alarm, "false_alarm", "(0, 1)"))
    check.integer(seed, "seed", 0, 2**31)
    longest = float(check.scalar(patience, "patience", "(0, inf)"))
    if say is not None and not callable(say):
        raise TypeError(f"say must be callable, got {check.shown(say)}")
    if exhibits is not None and not isinstance(exhibits, Exhibits):
        raise TypeError(f"exhibits must be an Exhibits, got {check.shown(exhibits)}")
    if reason := libraries.missing(subject):
        return Report(subject.name, (Verdict(subject.name, ALL, "not available", words=reason),))
    subject = libraries.settled(subject)
    recording.start()
    began, imported, marked = clock.now(), frozenset(sys.modules), recording.mark()
    grace = GRACE * seconds
    trial = begin(subject, deadline=began + seconds, patience=longest, delta=delta, seed=seed, grace=grace)
    findings = trial.findings
    verdicts: dict[str, Verdict] = {}

    def ask(names: Sequence[str]) -> None:
        """Judge properties one after the other; record and report every verdict."""
        # The time is shared with the cases of the properties that follow.
        planned = [_cases(name, subject) if name != LAST else [] for name in names]
        for i, name in enumerate(names):
            ahead = [case for later in planned[i + 1 :] for case in later]
            trial.budget.turn_to(ahead, is_priority=name in FIRST)
            is_settled = name == LAST and any(verdict.outcome in DECIDED for verdict in verdicts.values())
            verdict = None if is_settled else _judged(name, subject, trial)
            if verdict is None and properties is not None:
                verdict = Verdict(subject.name, name, "not available", words=_unasked(name, subject))
            if verdict is None:
                continue
            before = verdicts.get(name)
            verdicts[name] = verdict if before is None else verdict._replace(runs=before.runs + verdict.runs)
            if say is not None and (before is None or before.outcome != verdict.outcome):
                say(verdicts[name])
            # A subject that cannot be called at all is asked nothing more.
            if verdict.outcome == "broken" and not findings.seen:
                break

    try:
        ask(wanted)
        # Hidden randomness: laws that were taken for exact are judged again, by frequencies.
        if findings.is_hidden and (exact := [name for name, verdict in verdicts.items() if verdict.is_exact]):
            ask(exact)
        # The rest of the budget goes to the properties that it was too short for.
        late = [name for name, verdict in verdicts.items() if verdict.wants_time]
        if late and trial.budget.left() > AGAIN * seconds:
            findings.retry_long_cases()
            ask(late)
        reached = tuple(verdicts.values())
        likeness = resemblance(trial, reached, exhibits or Exhibits())
        report = Report(subject.name, reached, resemblance=likeness)
    except KeyboardInterrupt:
        report = Report(subject.name, tuple(verdicts.values()), complete=False)
    files, unhashed = recording.used_since(marked)
    loaded = tuple(dict.fromkeys(map(str, [*since(imported), *files])))
    return report._replace(seconds=clock.now() - began, loaded=loaded, unhashed=tuple(unhashed))


def validated(subject: Subject, budget: float, properties: Sequence[str] | None) -> tuple[float, list[str]]:
    """Return the seconds of a judgement and the properties in order; raise for what none can be made of."""
    seconds = float(check.scalar(budget, "budget", f"(0, {LONGEST:g}]"))
    wanted = chosen(properties)
    declared.validate(subject)
    return seconds, wanted


def chosen(properties: Sequence[str] | None) -> list[str]:
    """Return the names of properties in the order in which they are asked; ValueError for an unknown one or none."""
    known = names(PROPERTIES)
    if properties is not None and not isinstance(properties, list | tuple):
        raise TypeError(f"properties must be a list of names, got {check.shown(properties)}")
    if properties is not None and not properties:
        raise ValueError("properties is empty: name at least one, or leave it out, for all that concern the subject")
    for name in properties or ():
        if name not in known:
            raise unknown("property", name, known)
    asked = known if properties is None else list(properties)
    between = [name for name in asked if name not in (*FIRST, LAST)]
    return [*(name for name in FIRST if name in asked), *between, *(name for name in asked if name == LAST)]


def asked(kind: str) -> list[str]:
    """Return the names of the properties that concern a kind of subject, in order; ValueError for an unknown kind."""
    if kind not in KINDS:
        raise unknown("kind", kind, KINDS)
    return [name for name in chosen(None) if kind in importlib.import_module(f"{PROPERTIES}.{name}").KINDS]


def _cases(name: str, subject: Subject) -> list[Case]:
    """Return the cases of a property, if it concerns a subject."""
    module = importlib.import_module(f"{PROPERTIES}.{name}")
    return list(module.cases(subject)) if _concerns(name, subject) else []


def _concerns(name: str, subject: Subject) -> bool:
    """Return whether a property is asked of a kind of subject, and of one with models of its own."""
    module = importlib.import_module(f"{PROPERTIES}.{name}")
    return subject.kind in module.KINDS and (subject.models is None or name in OF_OWN_MODELS)


def _judged(name: str, subject: Subject, trial: Trial) -> Verdict | None:
    """Return the verdict of one property; an error of the subject and the end of the time are verdicts, too."""
    caller, findings = trial.caller, trial.findings
    module, before = importlib.import_module(f"{PROPERTIES}.{name}"), caller.runs

    # Is the property asked at all?
    if not _concerns(name, subject):
        return None
    if findings.refused:
        if not _cases(name, subject):
            return None
        return Verdict(subject.name, name, "inconclusive", words=findings.refused)

    # Ask it.
    try:
        verdict: Verdict | None = module.verdict(subject, trial)
        return verdict
    except Broken as reason:
        return _broken(subject, name, reason, caller.runs - before)
    except OutOfTime as late:
        words = "; ".join(filter(None, [f"the budget ran out: give it {LARGER}", str(late), *findings.why]))
        return Verdict(subject.name, name, "inconclusive", runs=caller.runs - before, words=words)


def _broken(subject: Subject, name: str, reason: Broken, runs: int) -> Verdict:
    """Return the verdict on a subject that broke: what it did, and the input of that call where it is known."""
    words, shown = str(reason), None
    if reason.at is not None:
        shown = input_shown(subject, *reason.at)
        words += f" ({shown.case})"
    if subject.note == NOTE:
        words += f"; {SEVERAL}"
    return Verdict(subject.name, name, "broken", runs=runs, counterexample=shown, words=words)


def _unasked(name: str, subject: Subject) -> str:
    """Return why a property that was named does not concern a subject."""
    module = importlib.import_module(f"{PROPERTIES}.{name}")
    if subject.kind not in module.KINDS:
        return f"a {subject.kind} is not asked: it concerns {', '.join(module.KINDS)}"
    if not _concerns(name, subject):
        return f"a subject with models of its own is asked {' and '.join(OF_OWN_MODELS)} alone"
    return str(vars(module).get("NEEDS", "it does not concern this subject"))
