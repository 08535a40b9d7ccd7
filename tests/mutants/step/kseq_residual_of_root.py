"""Residual proportional to (p - rho q)+, which is right at the root only, with rho = K."""

from specsim.base.arrays import residual
from specsim.verify.step import kseq
from specsim.verify.step.kseq import *

KILLED_BY = "output_is_target"


def prepare(p, q, num_drafts):
    plan = kseq.prepare(p, q, num_drafts, rho=0 * p[..., :1] + num_drafts)
    return plan._replace(left_over=residual(p, plan.raised))
