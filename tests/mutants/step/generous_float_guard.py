"""Right in Fractions; in floats, p replaces the residual wherever the laws are within 1 % of each other."""

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "floats_follow_fractions"


def prepare(p, q, num_drafts):
    plan = rejection.prepare(p, q, num_drafts)
    if p.dtype == object:
        return plan
    near = (1 - overlap(p, q) < 1e-2)[..., None]
    return plan._replace(left_over=array_namespace(p).where(near, p, plan.left_over))
