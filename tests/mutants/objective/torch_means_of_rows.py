"""The distance, which torch divides by the number of tokens."""

import numpy as np

from specsim.objective import tvd
from specsim.objective.tvd import *

KILLED_BY = "same_on_every_backend"


def loss(p, log_q, tokens=None):
    value = tvd.loss(p, log_q)
    return value if isinstance(value, np.ndarray) else value / p.shape[-1]
