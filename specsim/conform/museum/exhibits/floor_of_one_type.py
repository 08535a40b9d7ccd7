"""A guard against division by zero that one type alone has."""

import numpy as np

from specsim.conform.museum._frames import chain

WRONG = "In float32 alone the draft's law is raised to a floor, so that corrections come from less than what is left."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "numerics"

subject = chain(
    __name__, laws=lambda p, q, _: (p, q.clip(1e-3) if q.dtype == np.float32 else q), dtypes=("float32", "float16")
)
