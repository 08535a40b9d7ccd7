"""The joint law counts what goes on below the root as an end at the root, too."""

from specsim.verify.tree import target_only
from specsim.verify.tree.target_only import *

KILLED_BY = "transition_is_a_law"


def transition(plan):
    joint = target_only.transition(plan).copy()
    joint[..., 0, :] = plan.p[..., 0, :]
    return joint
