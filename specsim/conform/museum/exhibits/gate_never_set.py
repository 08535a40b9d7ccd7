"""Acceptance waits for a flag of another mode."""

from specsim.conform.museum._frames import chain, ratio

WRONG = (
    "Acceptance is gated on a flag that this mode never sets: every draft is rejected, and what is emitted is "
    "always a correction."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

HIT = False  # of the cache; set by the other mode


subject = chain(__name__, accepts=lambda p, q, i, x, random: HIT and ratio(p, q, i, x, random))
