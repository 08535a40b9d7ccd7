"""LANTERN, but its sampler leaves neighbours the mass that was lent to the draft: another law with the same bias."""

from specsim.verify.step import lantern
from specsim.verify.step.lantern import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    return lantern.verify(plan._replace(taken=plan.taken & False), drafts, u)
