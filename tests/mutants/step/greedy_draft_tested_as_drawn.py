"""Top tokens of q, which are certain to be drafted, are tested as if drawn from q (section 11, error 9)."""

from specsim.verify.step.recursive import *

DRAFTS = "greedy"
KILLED_BY = "output_is_target"
