"""Recursive rejection without replacement against q less the failed drafts, not renormalised (section 11, error 7a)."""

from array_api_compat import array_namespace

from specsim.base.arrays import accept_probability, ids, one_hot, residual
from specsim.verify.step.recursive_wor import *

KILLED_BY = "output_is_target"


def transition(plan, drafts):
    row, draft, law, reached = plan.p, plan.q, 0, 1
    for k in range(drafts.shape[-1]):
        x = drafts[..., k]
        kept = accept_probability(row, draft, x)[..., None]
        law, reached = law + reached * kept * one_hot(x, row), reached * (1 - kept)
        row, draft = residual(row, draft), array_namespace(draft).where(ids(draft) == x[..., None], 0, draft)
    return law + reached * row
