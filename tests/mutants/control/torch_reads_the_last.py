"""A threshold that on torch takes the least of the ten largest probabilities."""

import numpy as np

from specsim.control import threshold
from specsim.control.threshold import *

KILLED_BY = "same_on_torch"


def more(state, signals):
    if isinstance(signals.top, np.ndarray):
        return threshold.more(state, signals)
    return threshold.more(state, signals._replace(top=signals.top.flip(-1), own=-signals.own))
