"""The winner is kept with probability min(1, p/q), as a plain draft would be: but winners have the law w, not q."""

from specsim.base.arrays import residual
from specsim.verify.step import importance
from specsim.verify.step.importance import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return importance.prepare(p, q, num_drafts)._replace(winners=q, left_over=residual(p, q))
