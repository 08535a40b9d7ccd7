"""The K likeliest tokens by a sort, whether or not q gives them any probability (top-k with k beyond the support)."""

from array_api_compat import array_namespace

from specsim.draft.greedy import *

KILLED_BY = "edges"


def draw(q, u, num_drafts):
    return array_namespace(q).argsort(-q, axis=-1, stable=True)[..., : u.shape[-1]]
