"""Lifting without the test at the node: when no child is kept, the node is."""

from specsim.verify.tree import lifted
from specsim.verify.tree.lifted import *

KILLED_BY = "strongly_lossless"


def prepare(p, q, tree, **params):
    plan = lifted.prepare(p, q, tree, **params)
    return plan._replace(chance=0 * plan.chance + 1)
