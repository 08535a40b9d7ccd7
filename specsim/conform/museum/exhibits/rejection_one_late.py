"""The correction after a rejection belongs one position further on."""

from specsim.conform.museum._frames import chain

WRONG = (
    "A rejection is handled one position late: the rejected token is dropped, and what the target says after "
    "it is emitted in its place."
)
THREAD = "https://github.com/openvinotoolkit/openvino.genai/issues/4190"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(__name__, correction=lambda p, q, i, x: p[i + 1])
