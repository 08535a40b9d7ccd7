"""A shortcut for tokens that the target likes."""

from specsim.conform.museum._frames import chain, ratio

WRONG = "A draft that the target gives 0.99 or more is kept without a test."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "degenerate"

subject = chain(__name__, accepts=lambda p, q, i, x, random: p[i, x] >= 0.99 or ratio(p, q, i, x, random))
