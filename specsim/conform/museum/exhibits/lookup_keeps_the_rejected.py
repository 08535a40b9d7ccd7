"""A lookup's rejected token can come back."""

from specsim.conform.museum._frames import chain

WRONG = (
    "A draft from a lookup is kept with probability p(x), and after a rejection the target is drawn from with "
    "x still in it."
)
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(
    __name__,
    accepts=lambda p, q, i, x, random: random.random() < p[i, x],
    correction=lambda p, q, i, x: p[i],
    takes_q=False,
)
