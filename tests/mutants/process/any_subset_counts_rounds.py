"""Any-subset, but a round counts as one pass: those that draft are said to cost nothing."""

from specsim.process import any_subset
from specsim.process.any_subset import *

KILLED_BY = "passes_are_counted"


def advance(state, rows, rule, u):
    after = any_subset.advance(state, rows, rule, u)
    return after._replace(passes=state.passes) if state.laws is None else after
