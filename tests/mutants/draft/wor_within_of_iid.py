"""Pr[all drafts in H] = q(H)^K: the formula of independent drafts."""

from specsim.draft import iid
from specsim.draft.without_replacement import *

KILLED_BY = "inside_is_exact"


def within(q, members, num_drafts):
    return iid.within(q, members, num_drafts)
