"""A repeated draft is skipped without updating the residual (SpecHub's RRS mode; i.i.d. drafts, deduplicated)."""

from specsim.base.arrays import accept_probability, one_hot, residual
from specsim.verify.step import recursive
from specsim.verify.step.recursive import *

KILLED_BY = "output_is_target"


def transition(plan, drafts):
    p, q = plan.left_over[0], plan.q
    law, reached, row = 0, 1, p
    for k in range(drafts.shape[-1]):
        seen = (drafts[..., :k] == drafts[..., k : k + 1]).any(axis=-1)[..., None]
        kept = (1 - seen) * accept_probability(row, q, drafts[..., k])[..., None]
        law = law + reached * kept * one_hot(drafts[..., k], row)
        reached = reached * (1 - kept)
        row = seen * row + (1 - seen) * residual(row, q)
    return law + reached * row


__all__ = ["recursive"]
