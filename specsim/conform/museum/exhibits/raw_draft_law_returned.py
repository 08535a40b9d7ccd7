"""The law that is returned is not the law that was drawn from."""

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw, warped

WRONG = "Drafts are drawn under the sampling parameters, and tested with the raw law of the draft."
THREAD = "https://github.com/huggingface/transformers/issues/47932"
EXPECTED = "convicted"
PROPERTY = "parameters"

subject = decoder(
    __name__, law=lambda draft, text, _: draft(text), proposal=lambda q, random, params: draw(random, warped(q, params))
)
