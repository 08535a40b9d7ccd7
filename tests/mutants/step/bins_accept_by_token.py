"""Selects by a plan in bins, but keeps the winner with p/w for the w of the token's own ratio, not of its bin's."""

from specsim.verify.step import optimal
from specsim.verify.step.optimal import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return optimal.prepare(p, q, num_drafts, grid=0.5)._replace(pooled=p)
