"""One label per distinct token, as if a repeated draft were one draft: repeats must be labelled independently."""

import numpy as np

from specsim.verify.step import optimal
from specsim.verify.step.optimal import *

KILLED_BY = "sampler_is_transition"


def verify(plan, drafts, u):
    count = drafts.shape[-1]
    first = (drafts[..., :, None] == drafts[..., None, :]).argmax(axis=-1)
    labels = [np.take_along_axis(u[..., k : k + count], first, axis=-1) for k in (0, count)]
    return optimal.verify(plan, drafts, np.concatenate([*labels, u[..., 2 * count :]], axis=-1))
