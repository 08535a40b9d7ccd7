"""A division that is avoided."""

from specsim.conform.museum._frames import chain, ratio

WRONG = "Where the draft's own probability is below 0.001, its ratio is taken for 1."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "degenerate"

subject = chain(__name__, accepts=lambda p, q, i, x, random: q[i, x] < 1e-3 or ratio(p, q, i, x, random))
