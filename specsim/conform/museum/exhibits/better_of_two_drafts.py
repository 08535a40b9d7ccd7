"""A draft is chosen after looking at it."""

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw

WRONG = "Two drafts are drawn, the likelier goes on, and it is tested as if it were the only draw."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = decoder(
    __name__, proposal=lambda q, random, _: max(draw(random, q), draw(random, q), key=lambda token: q[token])
)
