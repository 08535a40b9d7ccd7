"""The first draft is chosen, and tested against the law of one that weights have chosen."""

from specsim.verify.step import optimal_wor
from specsim.verify.step.optimal_wor import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = optimal_wor.prepare(p, q, num_drafts)
    return plan._replace(wins=0 * plan.wins + 1)
