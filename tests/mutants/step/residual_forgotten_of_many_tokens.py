"""Of more than 16 tokens the correction is drawn from the target: a branch for large vocabularies."""

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "output_is_target"
FEW = 16


def prepare(p, q, num_drafts):
    plan = rejection.prepare(p, q, num_drafts)
    return plan if p.shape[-1] <= FEW else plan._replace(left_over=p)
