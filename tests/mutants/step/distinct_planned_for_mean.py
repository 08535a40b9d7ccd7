"""Plans for the mean number of distinct drafts, rounded: t^(E N) in place of E t^N."""

from specsim.types import Draws
from specsim.verify.step import optimal
from specsim.verify.step.optimal import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    if isinstance(num_drafts, Draws):
        return optimal.prepare(p, q, num_drafts.least + (2 * num_drafts.extra >= 1))
    return optimal.prepare(p, q, num_drafts)
