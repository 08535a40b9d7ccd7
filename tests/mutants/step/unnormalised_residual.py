"""The residual is used as it is, without dividing by its mass."""

from specsim.base.arrays import positive_part
from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "transition_is_a_law"


def prepare(p, q, num_drafts):
    return rejection.Plan(p, q, positive_part(p - q))
