"""Tests the last draft against q, not against the law it was drawn from: q without the top tokens, renormalised."""

from specsim.verify.step import greedy_draft, rejection
from specsim.verify.step.greedy_draft import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return greedy_draft.prepare(p, q, num_drafts)._replace(last=rejection.prepare(p, q))
