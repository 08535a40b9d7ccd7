"""A threshold that may also be shown the target's rows: no controller can know them before the pass."""

from specsim.control import threshold
from specsim.control.threshold import *

KILLED_BY = "sees_the_draft_only"


def more(state, signals, p=None):
    return threshold.more(state, signals) if p is None else (p > signals.own[..., None]).any(-1)
