"""The coin has the precision of a short float."""

import numpy as np

from specsim.conform.museum._frames import chain

WRONG = "The coin of the test has a few bits only: ratios are rounded up to multiples of its step."
THREAD = ""
EXPECTED = "convicted"
PROPERTY = "marginal"

subject = chain(
    __name__, accepts=lambda p, q, i, x, random: random.choice(16, p=np.full(16, 1 / 16)) / 16 * q[i, x] < p[i, x]
)
