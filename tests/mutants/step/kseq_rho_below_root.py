"""rho = 1, below the root for two drafts or more: the residual goes negative and is clipped (section 11, error 10)."""

from specsim.verify.step import kseq
from specsim.verify.step.kseq import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    return kseq.planned(p, q, num_drafts, rho=0 * p[..., :1] + 1)
