"""The draft ignores the request's sampling parameters."""

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import warped
from specsim.conform.subject import SamplingParams

WRONG = (
    "Drafts are drawn at a temperature of their own, without top-k or top-p; the test and the residual use that law."
)
THREAD = ""
EXPECTED = "lossless"
PROPERTY = ""

OWN = SamplingParams(temperature=0.7)

subject = decoder(__name__, law=lambda draft, text, _: warped(draft(text), OWN))
