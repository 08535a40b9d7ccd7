"""The cases that a subject is judged in: those that it does not take, and those that show nothing, are left out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from specsim.conform.cases import Case
from specsim.conform.observation import key_of
from specsim.conform.observing import observe
from specsim.conform.subject_call import Broken, TooSlow, inputs
from specsim.conform.timeout import OutOfTime
from specsim.conform.trial import Trial
from specsim.forking.programs import scripted

# Size of the largest vocabulary that every subject must take.
SMALL = 5


def through(trial: Trial, cases: Iterable[Case]) -> Iterator[Case]:
    """Yield the cases of a property that the subject takes.

    Those that were not seen yet share the time with the cases of the properties that follow.
    """
    all_cases = list(cases)
    for i, case in enumerate(all_cases):
        if not takes(trial, case):
            continue
        # Cases that were not seen yet, of this property and of those that follow, share the time.
        waiting = {key_of(other) for other in (*all_cases[i:], *trial.budget.ahead) if not other.exact_only}
        trial.budget.share_among(len(waiting - trial.findings.seen.keys()))
        yield case


def takes(trial: Trial, case: Case) -> bool:
    """Return whether the subject takes the case's vocabulary, and has an exact law where only that counts."""
    return _takes_vocabulary(trial, case) and (not case.exact_only or _follows(trial, case))


def _takes_vocabulary(trial: Trial, case: Case) -> bool:
    """Return whether a call takes the case's vocabulary.

    A subject that raises twice may have a table of some size; one that does not come back may be a
    program for few tokens.
    """
    vocab, findings = case.target.vocab, trial.findings
    if findings.is_slow(vocab):
        return False
    if vocab <= SMALL or trial.budget.left() <= 0 or findings.is_tried(vocab):
        return vocab not in findings.untaken
    findings.try_vocabulary(vocab)
    broken = first_error(trial, case)
    if isinstance(broken, TooSlow):
        findings.note_slow(vocab, str(broken))
    elif broken is not None:
        findings.exclude_vocabulary(vocab, str(broken))
    return vocab not in findings.untaken


def first_error(trial: Trial, case: Case) -> Broken | None:
    """Return what the first calls of a case raise, None if it is answered.

    An error that does not come again depends on the run, so that it is the subject's: it is raised,
    and so is a wrong answer.
    """
    broken = _probed(trial, case)
    if broken is not None and not isinstance(broken, TooSlow) and _probed(trial, case) is None:
        raise broken
    return broken


def _probed(trial: Trial, case: Case) -> Broken | None:
    """Return what the subject raises in one call of a case, None if it answers; a wrong answer is raised."""
    caller = trial.caller
    with caller.uncounted():
        try:
            caller.once(case, inputs(trial.subject, case)[0], np.random.default_rng(caller.seed))
        except scripted.NotScriptable:
            return None
        except TooSlow as slow:
            return slow
        except Broken as broken:
            if broken.__cause__ is None:
                raise
            return broken
    return None


def _follows(trial: Trial, case: Case) -> bool:
    """Return whether there is an exact law of a case; where there was none, larger ones are not tried."""
    if not trial.findings.is_followed or trial.findings.is_unfollowed(case):
        return False
    before = trial.caller.runs
    try:
        observe(trial, case)
    except OutOfTime:
        # How many runs an unfinished law has depends on the machine, and they are no evidence.
        trial.caller.reset_runs(before)
        trial.findings.note_unfollowed(case)
        return False
    return True
