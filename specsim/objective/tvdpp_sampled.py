"""TVD++ as published: standardised rewards 1{p > q} of one draft token a row.

Value.       -(r - mean r) / std r log q(x), r = 1{p(x) > q(x)} for x drawn from q; mean and
             deviation are those of the batch, the rows of one call, and count as constants. 0 where
             all rewards are equal; else the value has no meaning.
Gradient.    For each row its expectation is c times that of `tvd`. c > 0 depends on the other rows,
             which decide mean and deviation; in a batch of two c = 1. So rows count for more where
             the other rewards differ from theirs: a bias, though no row is pushed the wrong way. It
             has less noise than `tvd_sampled`.
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
    """The loss (...) of rows p and log q (..., V) at tokens (...) that the draft drew.

    Rows of one call are a batch.
    """
    p_drawn, log_q_drawn = (drawn(w, tokens, "tvdpp_sampled") for w in (p, log_q))
    xp = array_namespace(p, log_q)
    reward = xp.where(p_drawn > mass(log_q_drawn), 0 * p_drawn + 1, 0 * p_drawn)
    mean = boxed(xp.sum(reward) / math.prod(log_q_drawn.shape))
    return -over(reward - mean, spread(mean)) * log_q_drawn


def gradient(p: Array, log_q: Array) -> Array:
    """The expected gradient (..., V) of the sum of rows in the logits of q, in a batch of two."""
    return toward(p, mass(log_q))
