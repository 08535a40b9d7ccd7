"""In a bin of several tokens each also wins over itself."""

from specsim.verify.step import optimal_wor
from specsim.verify.step.optimal_wor import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = optimal_wor.prepare(p, q, num_drafts, bins=1)
    if num_drafts == 1:
        return plan
    return plan._replace(winners=plan.winners + plan.q * plan.odds * (plan.place == 1))
