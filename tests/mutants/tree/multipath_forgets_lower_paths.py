"""The law of the highest path with the maximum taken anew at every token: paths that are lower already do not count."""

from types import FunctionType

from specsim.verify.tree import multipath_block
from specsim.verify.tree.multipath_block import *
from specsim.verify.tree.multipath_block import _of_highest

KILLED_BY = "strongly_lossless"


def anew(q, upto, share, count):
    return _of_highest(q, upto, 0 * share + 1, count)


prepare = FunctionType(multipath_block.prepare.__code__, vars(multipath_block) | {"_of_highest": anew})
