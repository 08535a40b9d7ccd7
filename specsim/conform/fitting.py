"""Which cases a subject is looked at in: what it does not take, and what would show nothing, is left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from specsim.conform.cases import Case
from specsim.conform.evidence import scripted
from specsim.conform.observation import is_as_large, size_of
from specsim.conform.subject_call import Broken, inputs
from specsim.conform.timeout import OutOfTime

if TYPE_CHECKING:
    from specsim.conform.watch import Watch

SMALL = 5  # tokens that every subject must take


def takes(watch: Watch, case: Case) -> bool:
    """Return whether a call takes the case's vocabulary: one that raises twice may have a table of some size."""
    vocab = case.target.vocab
    if vocab <= SMALL or watch.left() <= 0 or vocab in watch.taken:
        return vocab not in watch.untaken
    watch.taken.add(vocab)
    if (broken := _probed(watch, case)) is not None:
        if _probed(watch, case) is None:
            raise broken
        watch.untaken[vocab] = f"it does not take V={vocab}: {broken}"
    return vocab not in watch.untaken


def _probed(watch: Watch, case: Case) -> Broken | None:
    """Return what the subject raises in one call of a case, None if it answers; a wrong answer is raised."""
    runs = watch.runs
    try:
        watch.once(case, inputs(watch.subject, case)[0], np.random.default_rng(watch.seed))
    except scripted.NotScriptable:
        return None
    except Broken as broken:
        if broken.__cause__ is None:
            raise
        return broken
    finally:
        watch.runs = runs
    return None


def follows(watch: Watch, case: Case) -> bool:
    """Return whether there is an exact law of a case; where there was none, larger ones are not tried."""
    if watch.kinds == ["Monte Carlo"] or any(is_as_large(case, size) for size in watch.unfollowed):
        return False
    try:
        watch(case)
    except OutOfTime:
        watch.unfollowed.append(size_of(case))
        return False
    return True
