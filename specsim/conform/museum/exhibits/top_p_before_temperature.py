"""Sampling parameters in another order."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "The target's top-p comes before its temperature, and the draft's after: each parameter alone is right."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(
    __name__,
    laws=lambda p, q, given: (
        warped(warped(p, given._replace(temperature=1.0)), given._replace(top_p=1.0)),
        warped(q, given),
    ),
    warps=True,
)
