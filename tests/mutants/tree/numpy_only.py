"""Calls NumPy by name."""

import numpy as np

from specsim.verify.tree import target_only
from specsim.verify.tree.target_only import *

KILLED_BY = "same_on_every_backend"


def prepare(p, q, tree):
    return target_only.prepare(np.asarray(p), np.asarray(q), tree._replace(tokens=np.asarray(tree.tokens)))


def verify(plan, u):
    return target_only.verify(plan, np.asarray(u))
