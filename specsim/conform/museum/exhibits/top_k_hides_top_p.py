"""Either top-k or top-p."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped

WRONG = "Where top-k is given, the target's top-p is not looked at: each parameter alone is right."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = chain(
    __name__,
    laws=lambda p, q, params: (warped(p, params._replace(top_p=1.0) if params.top_k else params), warped(q, params)),
    warps=True,
)
