"""Pr[all drafts in H] = q(H), as if there were one draft."""

from specsim.draft.iid import *

KILLED_BY = "inside_is_exact"


def within(q, members, num_drafts):
    return (q * members).sum(axis=-1)
