"""The target is tested as it is, but the residual is that of p before a filter cut its tail (section 11, error 8)."""

from specsim.base.arrays import residual
from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    before = (p + 1 / (p.shape[-1] + 0 * p)) / 2
    return rejection.Plan(p, q, residual(before, q))
