"""Several drafts, each tested against p itself instead of what the earlier ones left over."""

from helpers.exhibits import names_of_step

from specsim.verify.step import recursive

KILLED_BY = "output_is_target"
globals().update(names_of_step("siblings_tested_against_target", like=recursive))
