"""Calls NumPy by name."""

import numpy as np

from specsim.draft import iid
from specsim.draft.iid import *

KILLED_BY = "same_on_every_backend"


def draw(q, u, num_drafts):
    return iid.draw(np.asarray(q), np.asarray(u), num_drafts)
