"""1e-30 is added to floats of p: a draft that p excludes is kept at u = 0, as the mutant's own law says it may be."""

from specsim.base.arrays import is_exact
from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "edges"


def prepare(p, q, num_drafts):
    return rejection.prepare(p if is_exact(p) else p + 1e-30, q, num_drafts)
