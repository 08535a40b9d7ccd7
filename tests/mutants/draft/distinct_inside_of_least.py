"""Pr[all drafts in H] for the least number of draws."""

from specsim.draft import distinct
from specsim.draft.distinct import *

KILLED_BY = "inside_is_exact"


def within(q, members, num_drafts):
    return distinct.within(q, members, num_drafts._replace(extra=0))
