"""Every second row of a batch reuses its neighbour's uniforms (noise allocated once: Sequoia's joint TV of 0.27)."""

import numpy as np

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "frequencies"


def verify(plan, drafts, u):
    if isinstance(u, np.ndarray) and u.ndim == 2 and len(u) > 1:
        u = np.repeat(u[::2], 2, axis=0)[: len(u)]
    return rejection.verify(plan, drafts, u)
