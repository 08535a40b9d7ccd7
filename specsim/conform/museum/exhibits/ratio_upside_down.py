"""The ratio is that of the draft to the target."""

from specsim.conform.museum._frames import chain

WRONG = "The test accepts with min(1, q/p), which prefers what the draft likes too much."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(__name__, accepts=lambda p, q, i, x, random: random.random() * p[i, x] < q[i, x])
