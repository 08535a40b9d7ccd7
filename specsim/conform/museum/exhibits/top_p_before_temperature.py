"""Sampling parameters in another order."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "The target's top-p comes before its temperature, and the draft's after: each parameter alone is right."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(
    __name__,
    laws=lambda p, q, params: (
        warped(warped(p, params._replace(temperature=1.0)), params._replace(top_p=1.0)),
        warped(q, params),
    ),
    warps=True,
)
