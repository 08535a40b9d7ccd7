"""A race that copies its variates to the host."""

import numpy as np

from specsim.verify.coupled.race import *

KILLED_BY = "same_on_every_backend"


def verify(p, drafts, e):
    return first(np.asarray(p), np.asarray(e)[..., 0, :])
