"""A cascade of tokens that states the price of its acceptance as its bias, which is that of a cascade of rows."""

from specsim.base.arrays import overlap
from specsim.verify.step import cascade
from specsim.verify.step.cascade import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts=1):
    return cascade.prepare(p, q, num_drafts, "token_v3")


def bias(plan):
    return acceptance(plan) - overlap(plan.p, plan.q)
