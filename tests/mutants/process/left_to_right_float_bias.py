"""Right in Fractions; in floats the uniforms never reach the last 2 % of the cdf."""

from specsim.process import left_to_right
from specsim.process.left_to_right import *

KILLED_BY = "floats_follow_fractions"


def advance(state, rows, rule, u):
    return left_to_right.advance(state, rows, rule, u if u.dtype == object else 0.98 * u)
