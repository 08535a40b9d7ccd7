"""A rejected draft is replaced from p itself (ShopeeLLM/Spec-RL#14: no residual at all)."""

from helpers.exhibits import names_of_step

from specsim.verify.step import rejection

KILLED_BY = "output_is_target"
globals().update(names_of_step("residual_is_target", like=rejection))
