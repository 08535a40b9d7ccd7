"""Verification begins after the first draft."""

from specsim.conform.museum._frames import chain, ratio

WRONG = "The first draft is kept without a test; only the later ones are verified."
THREAD = "https://github.com/ohdearquant/lattice/issues/243"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(__name__, accepts=lambda p, q, i, x, random: i == 0 or ratio(p, q, i, x, random))
