"""A repeated draft is skipped without updating the residual (SpecHub's RRS mode; i.i.d. drafts, deduplicated)."""

from helpers.exhibits import names_of_step

from specsim.verify.step import recursive

KILLED_BY = "output_is_target"
globals().update(names_of_step("duplicates_skipped", like=recursive))
