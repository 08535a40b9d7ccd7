"""Of two tokens that are not live the later one wins, while w is that of the earlier one."""

from array_api_compat import array_namespace

from specsim.verify.step import importance
from specsim.verify.step.importance import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan, dead = importance.prepare(p, q, num_drafts, live=1), p.shape[-1] - 1
    place = array_namespace(p).where(plan.place < dead, dead - 1 - plan.place, plan.place)
    return plan._replace(place=place)
