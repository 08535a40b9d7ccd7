"""Hits as if the drafts were compared with the token one by one, each on its own."""

from specsim.verify.coupled.list_race import *

KILLED_BY = "acceptance_is_exact"


def hits(p, q, num_drafts):
    one = together(p, q)
    return one * (1 - (1 - one) ** (num_drafts - 1)) + one * (1 - one) ** (num_drafts - 1)
