"""Reverse divergence KL(q || p): the draft keeps to what the target would say.

Value.       sum q log(q / p); 0 iff p = q. It is infinite where p is 0 and q is not, as after top-k
             filters and for one-hot p; there the smallest normal number stands for p, so that value
             and gradient stay finite.
Gradient.    q (log(q / p) - KL(q || p)) in the logits of q.
Theorem.     T35, part 1.
Cost.        O(V).
Paper.       Zhou et al., DistillSpec, arXiv:2310.08461.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace
from specsim.objective._parts import log_or, mass, tiny, where_positive
from specsim.types import Array

SAMPLED = False
THEOREM = "T35"
PAPER = "arXiv:2310.08461"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """The loss (...) of rows p and log q (..., V)."""
    xp, q = array_namespace(p, log_q), mass(log_q)
    return xp.sum(q * _log_ratio(p, q, log_q), axis=-1)


def gradient(p: Array, log_q: Array) -> Array:
    """The gradient (..., V) of the sum of rows in the logits of q."""
    xp, q = array_namespace(p, log_q), mass(log_q)
    log_ratio = _log_ratio(p, q, log_q)
    return q * (log_ratio - xp.sum(q * log_ratio, axis=-1, keepdims=True))


def _log_ratio(p: Array, q: Array, log_q: Array) -> Array:
    """The logarithm (..., V) of q / p, finite also where p or q is 0."""
    return where_positive(q, log_q) - log_or(p, tiny(p))
