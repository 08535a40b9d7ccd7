"""Several drafts, each tested against p itself instead of what the earlier ones left over."""

from specsim.base.arrays import residual
from specsim.verify.step import recursive
from specsim.verify.step.recursive import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return recursive.Plan(q, (*[p] * num_drafts, residual(p, q)))
