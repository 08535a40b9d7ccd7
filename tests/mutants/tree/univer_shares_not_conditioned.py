"""A later sibling is tried with its share, not with its share of what the earlier ones left."""

from types import FunctionType, SimpleNamespace

from specsim.verify.tree import univer
from specsim.verify.tree.univer import *

KILLED_BY = "strongly_lossless"


def without_sums(*arrays):
    xp = array_namespace(*arrays)
    return SimpleNamespace(**vars(xp) | {"cumulative_sum": lambda w, axis: w})


prepare = FunctionType(univer.prepare.__code__, vars(univer) | {"array_namespace": without_sums})
