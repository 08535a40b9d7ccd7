"""LANTERN, but the bias of what the released code does is said to be that of the paper's."""

from specsim.verify.step import lantern
from specsim.verify.step.lantern import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts=1):
    return lantern.prepare(p, q, num_drafts, zeroed=True)


def bias(plan):
    return lantern.bias(plan._replace(zeroed=False))
