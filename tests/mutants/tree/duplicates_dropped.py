"""Equal i.i.d. siblings are merged, the rest verified as i.i.d.: theory/verification.md 11, error 6."""

import numpy as np

from specsim.verify.tree import tokenwise
from specsim.verify.tree.tokenwise import *

CHILDREN = ("iid",)
KILLED_BY = "strongly_lossless"


def prepare(p, q, tree):
    plan = tokenwise.prepare(p, q, tree)
    return plan._replace(levels=[_merged(level) if level.below else level for level in plan.levels])


def _merged(level):
    order = np.argsort(~level.first, axis=-1, kind="stable")
    tokens, places, first = (np.take_along_axis(w, order, axis=-1) for w in level[1:4])
    return level._replace(tokens=tokens, places=places, first=first, count=first.sum(axis=-1))
