"""Drafts are drawn in a shorter type than they are tested in."""

import numpy as np

from specsim.conform.museum._frames import decoder
from specsim.conform.museum._parts import draw

WRONG = "Drafts come from probabilities rounded to a few bits, and the test and the residual use those before rounding."
THREAD = "https://github.com/deepseek-ai/DeepSpec/issues/31"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = decoder(__name__, proposal=lambda q, random, _: draw(random, np.round(q * 32)))
