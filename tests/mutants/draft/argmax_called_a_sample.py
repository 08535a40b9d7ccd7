"""Drafts are the argmax, reported as draws from q (jaymody/speculative-sampling#3; llama.cpp's tree example)."""

from array_api_compat import array_namespace

from specsim.draft.iid import *

KILLED_BY = "draws_follow_probability"


def draw(q, u, num_drafts):
    xp = array_namespace(q)
    return xp.argmax(q, axis=-1)[..., None] + xp.zeros(u.shape, dtype=xp.int64)
