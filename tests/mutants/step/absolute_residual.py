"""Residual proportional to |p - q| instead of (p - q)+ ("softmax of the difference", transformers#28508)."""

from helpers.exhibits import names_of_step

from specsim.verify.step import rejection

KILLED_BY = "output_is_target"
globals().update(names_of_step("residual_absolute", like=rejection))
