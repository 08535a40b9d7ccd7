"""The clipped ratio, but a refused draft is replaced where the draft has most of the target's mass already."""

from fractions import Fraction

from specsim.verify.step import clipped
from specsim.verify.step.clipped import *

HALF = Fraction(1, 2)

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts=1, epsilon=HALF):
    plan = clipped.prepare(p, q, num_drafts, epsilon)
    return plan._replace(replacement=q)
