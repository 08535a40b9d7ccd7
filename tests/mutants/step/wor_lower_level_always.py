"""Every draft takes the lower of its two levels, although the law of the chosen one counts both."""

from specsim.verify.step import optimal_wor
from specsim.verify.step.optimal_wor import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = optimal_wor.prepare(p, q, num_drafts, few=1)
    if num_drafts == 1:
        return plan
    return plan._replace(places=plan.places._replace(share=0 * plan.places.share))
