"""A judge, but what passes is kept by the standard test, and what does not is kept whatever it is."""

from specsim.verify.step import judge
from specsim.verify.step.judge import *

KILLED_BY = "acceptance_is_exact"


def transition(plan, drafts):
    return judge.transition(judge.prepare(plan.p, plan.q, 1, ~plan.judged), drafts)
