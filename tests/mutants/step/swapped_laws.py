"""p and q swapped: papers disagree on which letter is the target."""

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return rejection.prepare(q, p, num_drafts)
