"""Pr[both drafts in H] with pairs (a, x) of mass q(a) q(x): not divided by 1 - q(a)."""

from specsim.draft import hub
from specsim.draft.hub import *

KILLED_BY = "inside_is_exact"


def within(q, members, num_drafts):
    if num_drafts == 1:
        return hub.within(q, members, 1)
    top = q.argmax(axis=-1)
    return members[..., top] * (1 + q[top]) * ((q * members).sum(axis=-1) - q[top])
