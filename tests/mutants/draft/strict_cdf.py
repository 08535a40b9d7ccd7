"""Counts cdf < u: at u = 0 the first token is drawn even when its probability is 0."""

from array_api_compat import array_namespace

from specsim.draft.iid import *

KILLED_BY = "edges"


def draw(q, u, num_drafts):
    xp = array_namespace(q)
    cdf = xp.cumulative_sum(q, axis=-1)[..., None, :]
    return xp.sum(xp.astype(cdf < u[..., None] * cdf[..., -1:], xp.int64), axis=-1)
