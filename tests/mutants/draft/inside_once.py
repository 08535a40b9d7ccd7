"""Pr[all drafts in H] = q(H), as if there were one draft."""

from specsim.draft.iid import *

KILLED_BY = "inside_is_exact"


def inside(q_mass, num_drafts):
    return q_mass
