"""A rejected draft is replaced from p itself (ShopeeLLM/Spec-RL#14: no residual at all)."""

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return rejection.Plan(p, q, p)
