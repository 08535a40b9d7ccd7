"""The loop over ratios ends one early."""

from specsim.conform.museum._frames import chain, ratio

WRONG = "The ratio of the last draft of a block is never used: it is kept whenever the draft before it is."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "bound"

subject = chain(__name__, accepts=lambda p, q, i, x, random: 0 < i == len(q) - 1 or ratio(p, q, i, x, random))
