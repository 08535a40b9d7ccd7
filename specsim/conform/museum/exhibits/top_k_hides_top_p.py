"""Either top-k or top-p."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "Where top-k is given, the target's top-p is not looked at: each parameter alone is right."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(
    __name__,
    laws=lambda p, q, given: (warped(p, given._replace(top_p=1.0) if given.top_k else given), warped(q, given)),
    warps=True,
)
