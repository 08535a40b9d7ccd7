"""The law of the tuple forgets to renormalise what is left of q: theory/verification.md 11, error 7a."""

from specsim.base.arrays import at
from specsim.draft.without_replacement import *

KILLED_BY = "draws_follow_probability"


def probability(q, drafts, num_drafts):
    repeated = drafts[..., :, None] == drafts[..., None, :]
    distinct = repeated.sum(axis=(-1, -2)) == drafts.shape[-1]
    return at(q[..., None, :], drafts).prod(axis=-1) * distinct
