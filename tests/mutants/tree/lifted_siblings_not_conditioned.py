"""Lifting that tries every child with its share of the step rule's law, as if no sibling had been tried before."""

from types import FunctionType, SimpleNamespace

from specsim.verify.tree import lifted
from specsim.verify.tree.lifted import *

KILLED_BY = "strongly_lossless"


def without_sums(*arrays):
    xp = array_namespace(*arrays)
    return SimpleNamespace(**vars(xp) | {"cumulative_sum": lambda w, axis: w})


changed = vars(lifted) | {"array_namespace": without_sums}
prepare = FunctionType(lifted.prepare.__code__, changed, argdefs=lifted.prepare.__defaults__)
