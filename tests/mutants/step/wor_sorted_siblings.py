"""Siblings tried in the order of q instead of the order in which they were drawn (section 11, error 7b)."""

import numpy as np

from specsim.base.arrays import at
from specsim.verify.step import recursive_wor
from specsim.verify.step.recursive_wor import *

KILLED_BY = "output_is_target"


def transition(plan, drafts):
    mass = at(plan.q[..., None, :], drafts)
    order = np.argsort(-mass, axis=-1, stable=True)
    return recursive_wor.transition(plan, np.take_along_axis(np.broadcast_to(drafts, order.shape), order, axis=-1))
