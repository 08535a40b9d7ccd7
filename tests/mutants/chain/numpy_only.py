"""Calls NumPy by name."""

import numpy as np

from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "same_on_every_backend"


def verify(plan, drafts, u):
    return tokenwise.verify(tokenwise.Plan(*map(np.asarray, plan)), np.asarray(drafts), np.asarray(u))
