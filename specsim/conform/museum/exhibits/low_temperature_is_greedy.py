"""A threshold below which a temperature is none."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "The target takes a temperature below 0.3 for 0; drafts are drawn at the temperature that was asked for."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(
    __name__,
    laws=lambda p, q, params: (
        warped(p, params._replace(temperature=0.0) if params.temperature < 0.3 else params),
        warped(q, params),
    ),
    warps=True,
)
