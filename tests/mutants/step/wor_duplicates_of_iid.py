"""Distinct drafts verified as if they were independent draws from q (section 11, error 6)."""

from specsim.verify.step.recursive import *

DRAFTS = "without_replacement"
KILLED_BY = "output_is_target"
