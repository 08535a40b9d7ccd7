"""Emits a whenever the other draft fails, at one draft too: more hits than p allows."""

from specsim.verify.step import spechub
from specsim.verify.step.spechub import *

KILLED_BY = "acceptance_below_optimum"


def prepare(p, q, num_drafts):
    plan = spechub.prepare(p, q, num_drafts)
    return plan._replace(to_hub=plan.failed)
