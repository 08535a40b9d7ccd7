"""One uniform decides the test and draws the residual (shared noise: vllm-project/vllm#47386, #54282)."""

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    return rejection.verify(plan, drafts, u[..., :1] + 0 * u if u.dtype != object else u[..., [0, 0]])
