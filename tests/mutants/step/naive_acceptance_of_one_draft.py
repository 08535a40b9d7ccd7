"""Reports sum p q whatever K is."""

from specsim.verify.step.naive import *

KILLED_BY = "acceptance_is_exact"


def acceptance(plan):
    return (plan.p * plan.q).sum(axis=-1)
