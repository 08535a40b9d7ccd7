"""Every draft of the list from the first race: K times the same token."""

from specsim.verify.coupled.list_race import *

KILLED_BY = "drafts_follow_scheme"


def propose(q, e, num_drafts):
    return array_namespace(q, e).stack([first(q, e[..., 0, :])] * num_drafts, axis=-1)
