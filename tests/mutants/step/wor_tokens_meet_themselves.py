"""A token that is placed between levels also wins over itself."""

from array_api_compat import array_namespace

from specsim.verify.step import optimal_wor
from specsim.verify.step.optimal_wor import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = optimal_wor.prepare(p, q, num_drafts, few=1)
    if num_drafts == 1:
        return plan
    return plan._replace(winners=plan.winners + array_namespace(q).where(plan.top, 0, plan.q * plan.odds))
