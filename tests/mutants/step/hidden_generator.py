"""A rule that takes its randomness from a generator instead of an argument."""

from specsim.verify.step.rejection import *

KILLED_BY = "contract"


def verify(plan, drafts, rng):
    return drafts[..., 0]
