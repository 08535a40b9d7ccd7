"""Of more than four drafts the token after all of them is drawn from the row before the last."""

from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "strongly_lossless"
FEW = 4


def transition(plan, drafts):
    law = tokenwise.transition(plan, drafts)
    if plan.q.shape[-2] > FEW:
        law = law.copy()
        law[-1] = law[-1].sum() * plan.p[-2]
    return law
