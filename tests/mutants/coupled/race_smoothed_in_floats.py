"""In floats a millionth is added to every weight of p."""

from specsim.verify.coupled.race import *
from specsim.verify.coupled.race import hits as _own

KILLED_BY = "floats_follow_fractions"


def hits(p, q, num_drafts):
    return _own(p if p.dtype == object else p + 1e-6, q, num_drafts)
