"""The last row is not that of the bonus token."""

from specsim.conform.museum._frames import chain

WRONG = "After a block that was kept whole the next token is drawn from the law of the position before."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"

subject = chain(__name__, bonus=lambda p: p[-2])
