"""Whatever lies in the support of q is called a hit."""

from specsim.verify.coupled.ranked_race import *

KILLED_BY = "below_optimum"


def hits(p, q, num_drafts):
    return array_namespace(p, q).where(q > 0, p, 0 * p)
