"""The last candidate is drawn from all of q, top tokens included."""

from array_api_compat import array_namespace

from specsim.base.arrays import pick
from specsim.draft.greedy import *

KILLED_BY = "draws_follow_probability"


def draw(q, u, num_drafts):
    top, _ = split(q, u.shape[-1])
    last = pick(q, u[..., -1])
    return array_namespace(last).stack([*(token + 0 * last for token in top), last], axis=-1)
