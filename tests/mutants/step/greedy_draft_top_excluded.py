"""After a rejection draws outside the top tokens, as if they had been tried and rejected."""

from array_api_compat import array_namespace

from specsim.base.arrays import normalize_or
from specsim.verify.step import greedy_draft
from specsim.verify.step.greedy_draft import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = greedy_draft.prepare(p, q, num_drafts)
    outside = array_namespace(p).where(plan.top, 0, plan.last.left_over)
    return plan._replace(last=plan.last._replace(left_over=normalize_or(outside, p)))
