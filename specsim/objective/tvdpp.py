"""TVD++ with the expectation over the vocabulary: the total variation distance over a number.

Value.       TVD / sigma, sigma^2 = mu (1 - mu), mu the mean over the rows of q(p > q); sigma counts
             as a constant. 0 where sigma is 0.
Gradient.    -E_q[(1{p > q} - mu) / sigma grad log q] in the logits of q, which is that of `tvd`
             over sigma: mu takes nothing away, since E_q[grad log q] = 0. So a batch is trained as
             by `tvd` at another rate, and under Adam as by `tvd`; only `tvdpp_sampled` differs.
Theorem.     T35, part 4.
Cost.        O(V).
Paper.       Goel et al., arXiv:2403.00858.
"""

from __future__ import annotations

import math

from specsim.base.arrays import array_namespace
from specsim.objective._parts import boxed, excess, mass, over, spread, toward
from specsim.types import Array

SAMPLED = False
THEOREM = "T35"
PAPER = "arXiv:2403.00858"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """The loss (...) of rows p and log q (..., V); rows of one call are a batch."""
    q = mass(log_q)
    return over(excess(p, q), _sigma(p, q))


def gradient(p: Array, log_q: Array) -> Array:
    """The gradient (..., V) of the sum of rows in the logits of q."""
    q = mass(log_q)
    return over(toward(p, q), _sigma(p, q))


def _sigma(p: Array, q: Array) -> Array:
    """Standard deviation () of the rewards 1{p > q} under q, over all rows of the batch."""
    xp = array_namespace(p, q)
    mu = xp.sum(xp.where(p > q, q, 0 * q)) / math.prod(p.shape[:-1])
    return spread(boxed(mu))
