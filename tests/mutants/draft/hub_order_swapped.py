"""Hands over (a, x) where (x, a) was drawn, and the other way round."""

from array_api_compat import array_namespace

from specsim.draft import hub
from specsim.draft.hub import *

KILLED_BY = "draws_follow_probability"


def draw(q, u, num_drafts):
    return array_namespace(u).flip(hub.draw(q, u, num_drafts), axis=-1)
