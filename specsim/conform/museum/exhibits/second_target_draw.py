"""The draw that decided is thrown away."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import draw

WRONG = (
    "A draft is kept if a fresh target draw equals it; otherwise the target is drawn from once more, which "
    "favours likely tokens."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(
    __name__, accepts=lambda p, q, i, x, random: draw(random, p[i]) == x, correction=lambda p, q, i, x: p[i]
)
