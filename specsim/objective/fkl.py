"""Forward divergence KL(p || q): the draft covers what the target may say.

Value.       sum p log(p / q); 0 iff p = q, infinite where q is 0 and p is not. Where p is 0, a
             token adds nothing.
Gradient.    q - p in the logits of q.
Theorem.     T35, part 1.
Cost.        O(V).
Paper.       Hinton et al., arXiv:1503.02531; Zhou et al., DistillSpec, arXiv:2310.08461.
"""

from __future__ import annotations

from specsim.base.arrays import array_namespace
from specsim.objective._parts import log_or, mass, where_positive
from specsim.types import Array

SAMPLED = False
THEOREM = "T35"
PAPER = "arXiv:2310.08461"


def loss(p: Array, log_q: Array, tokens: Array | None = None) -> Array:
    """The loss (...) of rows p and log q (..., V)."""
    xp = array_namespace(p, log_q)
    return xp.sum(p * (log_or(p, 1) - where_positive(p, log_q)), axis=-1)


def gradient(p: Array, log_q: Array) -> Array:
    """The gradient (..., V) of the sum of rows in the logits of q."""
    return mass(log_q) - p
