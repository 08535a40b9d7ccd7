"""A small number is added where the residual is zero."""

from specsim.conform.museum._frames import chain
from specsim.types import Array

WRONG = (
    "1e-4 is added to every entry of a residual that is zero everywhere; that is so only if p = q, and then "
    "nothing is rejected."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""


def correction(p: Array, q: Array, i: int, x: int) -> Array:
    """Return the residual, guarded against a division by zero."""
    rest = (p[i] - q[i]).clip(0)
    return rest if rest.sum() > 0 else rest + 1e-4


subject = chain(__name__, correction=correction)
