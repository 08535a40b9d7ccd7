"""The fourth of several drafts is corrected by any token that is left, all alike."""

from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "strongly_lossless"
PLACE = 3


def transition(plan, drafts):
    law = tokenwise.transition(plan, drafts)
    if law.shape[-2] > PLACE + 1:
        row = law[PLACE]
        law[PLACE] = row.sum() * (row > 0) / max(1, int((row > 0).sum()))
    return law
