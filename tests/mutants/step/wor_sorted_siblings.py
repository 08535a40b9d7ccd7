"""Siblings tried in the order of q instead of the order in which they were drawn (section 11, error 7b)."""

from helpers.exhibits import names_of_step

from specsim.verify.step import recursive_wor

KILLED_BY = "output_is_target"
globals().update(names_of_step("siblings_sorted", like=recursive_wor))
