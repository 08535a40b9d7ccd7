"""From left to right, but the laws of the drafts are handed over one place late."""

from specsim.process import left_to_right
from specsim.process.left_to_right import *

KILLED_BY = "law_is_the_targets"


def advance(state, rows, rule, u):
    if len(state.laws) == int(left_to_right._draft_counts(state).max()) and len(state.laws) > 1:
        state = state._replace(laws=(state.laws[0], *state.laws[:-1]))
    return left_to_right.advance(state, rows, rule, u)
