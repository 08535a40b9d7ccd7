"""The drafter does not know the last token."""

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import warped

WRONG = "The drafter's cache lacks the token before the draft: it drafts badly, from the law that it is tested with."
THREAD = "https://github.com/lablup/mlxcel/issues/994"
EXPECTED = "lossless"
PROPERTY = ""

subject = decoder(__name__, law=lambda draft, text, params: warped(draft(text[:-1]), params))
