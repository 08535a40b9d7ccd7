"""A node passes at u <= its chance, so at u = 0 also with chance 0."""

from specsim.verify.tree import traversal
from specsim.verify.tree.traversal import *

KILLED_BY = "edges"


def verify(plan, u):
    return traversal.verify(plan._replace(chance=plan.chance + (u[..., :1] == 0) * 1e-300), u)
