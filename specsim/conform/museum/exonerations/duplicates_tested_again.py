"""A token that was rejected is tested a second time."""

from specsim.conform.museum._frames import recursive, step

WRONG = (
    "Two candidates may be equal, and the second is tested although the first was rejected: the residual has "
    "little left for it, and the rule is right."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""

subject = step(__name__, recursive, sizes=(2, 3))
