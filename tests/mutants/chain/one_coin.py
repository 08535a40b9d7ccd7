"""One coin for all positions of the block (feifeibear's `random_seed` resets the generator at every position)."""

from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    gamma = drafts.shape[-1]
    return tokenwise.verify(plan, drafts, u[..., [0] * gamma + [gamma]])
