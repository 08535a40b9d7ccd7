"""Stops at the second distinct token, so the number of draws depends on what is drawn; reported as if it did not."""

import numpy as np

from specsim.draft import distinct
from specsim.draft.distinct import *

KILLED_BY = "draws_follow_probability"


def draw(q, u, num_drafts):
    drafts = distinct.draw(q, u, num_drafts)
    seen = np.array([len(set(drafts[..., :k].ravel().tolist())) > 1 for k in range(drafts.shape[-1])])
    return np.where(seen, -1, drafts) if q.ndim == 1 else drafts
