"""Plans for the least number of distinct drafts, not for the law of their number: w is not the winner's law."""

from specsim.types import Draws
from specsim.verify.step import optimal
from specsim.verify.step.optimal import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return optimal.prepare(p, q, num_drafts._replace(extra=0) if isinstance(num_drafts, Draws) else num_drafts)
