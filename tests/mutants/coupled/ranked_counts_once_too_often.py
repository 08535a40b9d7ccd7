"""Hits of K drafts with the coefficients of K + 1."""

from specsim.verify.coupled.ranked_race import *
from specsim.verify.coupled.ranked_race import hits as _own

KILLED_BY = "acceptance_is_exact"


def hits(p, q, num_drafts):
    return _own(p, q, num_drafts + 1)
