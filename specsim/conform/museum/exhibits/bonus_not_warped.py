"""The bonus token has sampling parameters of its own: none."""

import numpy as np

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "Drafts and corrections are warped, and the bonus token is drawn from the target's raw law."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(
    __name__,
    laws=lambda p, q, params: (np.concatenate([warped(p[:-1], params), p[-1:]]), warped(q, params)),
    warps=True,
)
