"""A float slips in among Fractions: too near the exact law for a distance, which is rounded too, to show it."""

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "transition_is_a_law"


def transition(plan, drafts):
    return rejection.transition(plan, drafts) * (2 / 2)
