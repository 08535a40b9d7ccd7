"""1 - TV called a bound: only who sees both laws reaches it."""

from specsim.verify.coupled.race import *

KILLED_BY = "above_published_bound"


def bound(p, q, num_drafts):
    return overlap(p, q)
