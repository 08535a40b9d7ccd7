"""After a rejection the target is drawn from as it is."""

from specsim.conform.museum._frames import chain

WRONG = "The correction is drawn from the target's law, and not from what of it the draft leaves over."
THREAD = "https://github.com/ShopeeLLM/Spec-RL/issues/14"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(__name__, correction=lambda p, q, i, x: p[i])
