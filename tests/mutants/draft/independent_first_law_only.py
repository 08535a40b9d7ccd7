"""Pr[all drafts in H] as if every draft had the law of the first."""

from array_api_compat import array_namespace

from specsim.draft import independent
from specsim.draft.independent import *

KILLED_BY = "inside_is_exact"


def within(q, members, num_drafts):
    return independent.within(array_namespace(q).broadcast_to(q[..., :1, :], q.shape), members, num_drafts)
