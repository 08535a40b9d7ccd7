"""Top-k acceptance that counts a refused draft as accepted where the argmax is drafted elsewhere."""

from specsim.base.arrays import at
from specsim.verify.step.accept_k import *

KILLED_BY = "acceptance_is_exact"
_accepted = acceptance


def acceptance(plan):
    return _accepted(plan) + (1 - _accepted(plan)) * at(plan.q, plan.top)
