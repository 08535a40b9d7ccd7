"""Drafts of a lookup are kept with the target's probability."""

import numpy as np

from specsim.conform.museum._frames import chain

WRONG = "It has no q, and draws no draft; a one-hot draft is kept with probability p(x) and taken out of p otherwise."
THREAD = "https://github.com/vllm-project/vllm/pull/16899"
EXPECTED = "lossless"
PROPERTY = ""

subject = chain(
    __name__,
    accepts=lambda p, q, i, x, random: random.random() < p[i, x],
    correction=lambda p, q, i, x: np.where(np.arange(p.shape[1]) == x, 0, p[i]),
    takes_q=False,
)
