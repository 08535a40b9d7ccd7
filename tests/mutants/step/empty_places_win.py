"""Places without a draft are taken for drafts of token 0."""

from array_api_compat import array_namespace

from specsim.verify.step import optimal
from specsim.verify.step.optimal import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    return optimal.verify(plan, array_namespace(drafts).where(drafts < 0, 0, drafts), u)
