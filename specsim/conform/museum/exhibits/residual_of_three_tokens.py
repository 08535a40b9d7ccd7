"""Corrections from the head of what is left."""

import numpy as np

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import residual
from specsim.types import Array

WRONG = "Of the residual the three largest entries are kept: with three tokens there is nothing to see."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "joint"


def correction(p: Array, q: Array, i: int, x: int) -> Array:
    """Return the residual without its tail."""
    rest = residual(p[i], q[i])
    rest[np.argsort(-rest, kind="stable")[3:]] = 0
    return rest


subject = chain(__name__, correction=correction)
