"""At every node the plan is that of all K paths, also where few of them come by."""

from types import FunctionType, SimpleNamespace

from specsim.verify.step import optimal
from specsim.verify.tree import univer
from specsim.verify.tree.univer import *

KILLED_BY = "strongly_lossless"


def prepare(p, q, tree):
    def planned(weight, row, draft, level):
        most = level.tokens.shape[-1]
        whole = SimpleNamespace(**vars(optimal) | {"prepare": lambda r, q, count: optimal.prepare(r, q, most)})
        return FunctionType(univer._planned.__code__, vars(univer) | {"optimal": whole})(weight, row, draft, level)

    return FunctionType(univer.prepare.__code__, vars(univer) | {"_planned": planned})(p, q, tree)
