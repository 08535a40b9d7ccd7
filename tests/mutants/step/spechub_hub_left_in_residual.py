"""Draws from what both kinds of pairs leave over of p, though failed pairs have already emitted all of p(a)."""

from specsim.base.arrays import normalize_or, positive_part
from specsim.verify.step import spechub
from specsim.verify.step.spechub import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = spechub.prepare(p, q, num_drafts)
    return plan._replace(left_over=normalize_or(positive_part(p - plan.first - plan.second), p))
