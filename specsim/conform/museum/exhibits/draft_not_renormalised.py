"""The second candidate is tested with the first one's law."""

from specsim.conform.museum._frames import recursive, step

WRONG = "Candidates are drawn without replacement, and tested with q as it was before the first was taken out."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = step(__name__, recursive, sizes=(2,), scheme="without_replacement")
