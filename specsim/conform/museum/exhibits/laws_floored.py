"""Zeros are replaced before the logarithm."""

from specsim.conform.museum._frames import chain

WRONG = "Probabilities are raised to a small floor, so that a token which the target forbids is emitted."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "degenerate"

subject = chain(__name__, laws=lambda p, q, _: (p.clip(1e-3), q.clip(1e-3)))
