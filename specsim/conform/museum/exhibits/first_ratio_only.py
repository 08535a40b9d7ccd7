"""Every draft after the first is kept without a test."""

from specsim.conform.museum._frames import chain, ratio

WRONG = "Only the first draft's ratio is tested: the others are kept with it."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"

subject = chain(__name__, accepts=lambda p, q, i, x, random: i > 0 or ratio(p, q, i, x, random), sizes=(1, 2, 3))
