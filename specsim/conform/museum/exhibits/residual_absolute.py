"""The difference is not clamped, but made positive."""

from specsim.conform.museum._frames import chain

WRONG = "The correction is drawn from the absolute value of p - q: tokens that were drafted too often come back."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(__name__, correction=lambda p, q, i, x: abs(p[i] - q[i]))
