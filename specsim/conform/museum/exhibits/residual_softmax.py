"""The clamped difference goes through a softmax."""

import numpy as np

from specsim.conform.museum._frames import chain

WRONG = "The correction is drawn from the softmax of max(p - q, 0), which gives every token a part."
THREAD = "https://github.com/huggingface/transformers/pull/28508"
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(__name__, correction=lambda p, q, i, x: np.exp((p[i] - q[i]).clip(0)))
