"""At rho = K, reports the probability that a draft passes; a recovered token may be a failed draft as well."""

from specsim.draft import iid
from specsim.verify.step import kseq
from specsim.verify.step.kseq import *

KILLED_BY = "acceptance_is_exact"


def prepare(p, q, num_drafts):
    return kseq.prepare(p, q, num_drafts, rho=0 * p[..., :1] + num_drafts)


def acceptance(plan):
    return 1 - iid.inside(plan.failed.sum(axis=-1), plan.num_drafts)
