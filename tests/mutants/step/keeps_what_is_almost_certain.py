"""A draft to which the target gives nine tenths is kept, as if it were certain."""

from fractions import Fraction

import numpy as np

from specsim.base.arrays import at, one_hot
from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "output_is_target"
SURE = Fraction(9, 10)


def transition(plan, drafts):
    law, x = rejection.transition(plan, drafts), drafts[..., 0]
    sure = (at(plan.p, x) >= SURE)[..., None]
    return np.where(sure, one_hot(x, plan.p), law)
