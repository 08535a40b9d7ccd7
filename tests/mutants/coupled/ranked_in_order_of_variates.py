"""Drafts after the first in the order of E_i, not of E_i/q_i."""

from specsim.verify.coupled.ranked_race import *
from specsim.verify.coupled.ranked_race import propose as _own

KILLED_BY = "drafts_follow_scheme"


def propose(q, e, num_drafts):
    return _own(1 * (q > 0), e, num_drafts)
