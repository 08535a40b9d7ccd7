"""Any-subset, but the judging row of a place sees the token at that place."""

from specsim.process import any_subset
from specsim.process.any_subset import *

KILLED_BY = "law_is_the_targets"


def ask(state):
    asked = any_subset.ask(state)
    if state.laws is None:
        return asked
    seen = asked.seen.copy()
    slots = int(any_subset._draft_counts(state).max())
    for j in range(slots):
        seen[0, j, asked.places[0, j]] = True
    return asked._replace(seen=seen)
