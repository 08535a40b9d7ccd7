"""Tokens beyond the old end of the vocabulary."""

from specsim.conform.museum._frames import chain, ratio

WRONG = "Tokens from number 3 on, which were added later, are kept without a test: no vocabulary of three has them."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"

subject = chain(__name__, accepts=lambda p, q, i, x, random: x >= 3 or ratio(p, q, i, x, random))
