"""0 is taken for no temperature at all."""

from specsim.conform.museum._frames import chain
from specsim.conform.museum._parts import warped
from specsim.conform.subject import SamplingParams
from specsim.types import Array

WRONG = "A temperature of 0 is read as not given, and the text is drawn at temperature 1."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "greedy"


def laws(p: Array, q: Array, params: SamplingParams) -> tuple[Array, Array]:
    """Warp all rows, with 1 where the temperature is false."""
    params = params._replace(temperature=params.temperature or 1.0)
    return warped(p, params), warped(q, params)


subject = chain(__name__, laws=laws, warps=True)
