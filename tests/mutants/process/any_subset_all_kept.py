"""Any-subset, but nothing is judged: the second pass sees what the first saw."""

from specsim.process import any_subset
from specsim.process.any_subset import *

KILLED_BY = "law_is_the_targets"


def ask(state):
    asked = any_subset.ask(state)
    if state.laws is None:
        return asked
    return asked._replace(seen=any_subset.ask(state._replace(laws=None, bonus=state.bonus)).seen[:, :1] & asked.seen)
