"""The draft of highest rank wins, none moves to a partner: the winner's law is not the w it is tested against."""

from specsim.verify.step import optimal
from specsim.verify.step.optimal import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = optimal.prepare(p, q, num_drafts)
    return plan._replace(gains=0 * plan.gains, losses=0 * plan.losses)
