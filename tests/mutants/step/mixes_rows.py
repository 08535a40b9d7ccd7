"""A residual normalised over the whole batch instead of row by row."""

from specsim.base.arrays import positive_part
from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "batches"


def prepare(p, q, num_drafts):
    left = positive_part(p - q)
    return rejection.Plan(p, q, left / left.sum() if left.sum() > 0 else p)
