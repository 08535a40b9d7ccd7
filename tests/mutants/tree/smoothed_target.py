"""1e-30 is added to floats of p: a node that p excludes is kept at u = 0, as the mutant's own law says it may be."""

from specsim.base.arrays import is_exact
from specsim.verify.tree import tokenwise
from specsim.verify.tree.tokenwise import *

KILLED_BY = "edges"


def prepare(p, q, tree, step=None):
    return tokenwise.prepare(p if is_exact(p) else p + 1e-30, q, tree, step)
