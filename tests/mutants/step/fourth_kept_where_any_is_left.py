"""The fourth of several drafts is kept wherever anything of the target is left: on few tokens all of it is."""

import numpy as np

from specsim.base.arrays import accept_probability, one_hot
from specsim.verify.step.recursive import *

KILLED_BY = "output_is_target"
RANK = 3


def transition(plan, drafts):
    law, reached = 0, 1
    for k, row in enumerate(plan.left_over[:-1]):
        x = drafts[..., k]
        kept = accept_probability(row, plan.q, x)
        if k == RANK:
            kept = np.where(kept > 0, kept**0, kept)
        law = law + reached * kept[..., None] * one_hot(x, row)
        reached = reached * (1 - kept)[..., None]
    return law + reached * plan.left_over[-1]
