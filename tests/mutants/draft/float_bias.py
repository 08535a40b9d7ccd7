"""Right in Fractions; in floats the uniforms never reach the last 2 % of the cdf."""

from specsim.draft import iid
from specsim.draft.iid import *

KILLED_BY = "floats_follow_fractions"


def draw(q, u, num_drafts):
    return iid.draw(q, u if q.dtype == object else 0.98 * u, num_drafts)
