"""Drafts come from q, but are tested against q before a filter cut its tail (section 11, error 8)."""

from specsim.verify.step import rejection
from specsim.verify.step.rejection import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    before = (q + 1 / (q.shape[-1] + 0 * q)) / 2
    return rejection.prepare(p, q)._replace(q=before)
