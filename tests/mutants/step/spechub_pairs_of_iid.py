"""Tests pairs (a, x) against q(a) q(x), their law for independent drafts, not against q(a) q(x) / (1 - q(a))."""

from specsim.verify.step import spechub
from specsim.verify.step.spechub import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = spechub.prepare(p, q, num_drafts)
    return plan._replace(second=plan.second * (1 - q.max(axis=-1, keepdims=True)))
