"""TVD++ as published: rewards 1{p > q} of one token of the draft a row, less their mean, over their deviation.

Value.       -(r - mean r) / std r log q(x), r = 1{p(x) > q(x)} for x drawn from q; mean and deviation are those of the
             batch, the rows of one call, and count as constants. 0 where all rewards are equal. It means nothing.
Gradient.    Of each row it is expected to be c times that of `tvd`, c > 0, which depends on the other rows: they decide
             mean and deviation. In a batch of two c = 1. So the sum leans towards rows whose company has rewards unlike
             theirs, which is a bias, though no row is pushed the wrong way; of noise it has less than `tvd_sampled`.
Theorem.     T35, part 5.
Cost.        O(1) a row beyond the draft's own; no sum over the vocabulary.
Paper.       Goel et al., arXiv:2403.00858.
"""

from __future__ import annotations

import math

from specsim.base.arrays import array_namespace
from specsim.objective._parts import boxed, drawn, mass, over, spread, toward
from specsim.types import Array

SAMPLED = True
THEOREM = "T35"
PAPER = "arXiv:2403.00858"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """Rows p, log q (..., V) and tokens of the draft (...) -> (...); rows of one call are a batch."""
    likely, said = (drawn(w, tokens, "tvdpp_sampled") for w in (p, log_q))
    xp = array_namespace(p, log_q)
    reward = xp.where(likely > mass(said), 0 * likely + 1, 0 * likely)
    mean = boxed(xp.sum(reward) / math.prod(said.shape))
    return -over(reward - mean, spread(mean)) * said


def gradient(p: Array, log_q: Array) -> Array:
    """Expected of the sum of the rows of a batch of two, in the logits of q: (..., V)."""
    return toward(p, mass(log_q))
