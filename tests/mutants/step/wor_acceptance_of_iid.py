"""Reports the acceptance that independent drafts would have."""

from specsim.verify.step import recursive
from specsim.verify.step.recursive_wor import *

KILLED_BY = "acceptance_is_exact"


def acceptance(plan):
    return recursive.acceptance(recursive.prepare(*plan))
