"""Right in Fractions; in floats the ratios are shrunk, so every predicted tau is too low."""

from specsim.verify.chain import tokenwise
from specsim.verify.chain.tokenwise import *

KILLED_BY = "floats_follow_fractions"


def survival(ratio):
    return tokenwise.survival(ratio if ratio.dtype == object else 0.97 * ratio)
